// SPDX-License-Identifier: Apache-2.0
// Every collective moves its data in chunks of half a slot. A member copies its chunk into its
// slot, waits for the others, and reads theirs. The next chunk uses the other half, so one barrier
// a chunk is enough: whoever writes a half again has passed the barrier that all reach after
// reading it.
#include "cases/mini/communicator.h"

#include <algorithm>
#include <array>

#include "cases/mini/reduction.h"
#include "cases/mini/shared_block.h"
#include "cases/mini/world.h"
#include "trace/check.h"

namespace nanhunt::mini {
namespace {

enum class Call : uint64_t { kAllReduce = 1, kReduceScatter, kAllGather, kBroadcast, kBarrier };

// What the members must agree on: kind, elements, detail (options or root) in one word.
uint64_t call_word(Call call, size_t elements, uint64_t detail) {
  return static_cast<uint64_t>(call) << 56 | detail << 40 | elements;
}

uint64_t detail_of(const ReduceOptions& options) {
  return static_cast<uint64_t>(options.order) | static_cast<uint64_t>(options.op) << 2 |
         static_cast<uint64_t>(options.storage) << 4 |
         static_cast<uint64_t>(options.accumulate_in_storage) << 8;
}

}  // namespace

struct Group::Impl {
  SharedBlock& block;
  SharedGroup& shared;
  std::vector<int> ranks;
  size_t index;

  size_t members() const { return ranks.size(); }
  size_t half_floats() const { return block.slot_bytes / 2 / sizeof(float); }

  float* half_of(size_t member, uint32_t half) const {
    auto* start = reinterpret_cast<std::byte*>(&block) + shared.slots + member * block.slot_bytes;
    return reinterpret_cast<float*>(start) + half * half_floats();
  }

  // Hands over `mine` and returns every member's array, readable until the next call but one.
  std::array<const float*, kMaxRanks> exchange(std::span<const float> mine, uint64_t call) {
    // Stable here: it moves on only when this rank arrives too.
    const uint32_t half = shared.generation.load(std::memory_order_acquire) & 1u;
    std::copy(mine.begin(), mine.end(), half_of(index, half));
    shared.call[half][index] = call;
    wait_for_all(block, shared);
    std::array<const float*, kMaxRanks> arrays = {};
    for (size_t m = 0; m < members(); ++m) {
      if (shared.call[half][m] != call) refuse_mixed_calls(m);
      arrays[m] = half_of(m, half);
    }
    return arrays;
  }

  [[noreturn]] void refuse_mixed_calls(size_t member) {
    abort_block(block, "ranks " + std::to_string(ranks[index]) + " and " +
                           std::to_string(ranks[member]) + " called different collectives");
    throw_if_aborted(block);
    NANHUNT_CHECK(!"an aborted block throws");
  }
};

Group::Group(World& world, std::vector<int> ranks, int rank, int lane) {
  const auto place = std::find(ranks.begin(), ranks.end(), rank);
  NANHUNT_CHECK(place != ranks.end() && std::is_sorted(ranks.begin(), ranks.end()));
  NANHUNT_CHECK(ranks.front() >= 0 && ranks.back() < world.size());
  const auto index = static_cast<size_t>(place - ranks.begin());
  SharedBlock& block = static_cast<MappedWorld&>(world).block();  // there is no other kind
  SharedGroup& shared = find_group(block, ranks, lane);
  impl_.reset(new Impl{block, shared, std::move(ranks), index});
}

Group::~Group() = default;

int Group::size() const {
  return static_cast<int>(impl_->members());
}
int Group::index() const {
  return static_cast<int>(impl_->index);
}
const std::vector<int>& Group::ranks() const {
  return impl_->ranks;
}

void Group::all_reduce(std::span<float> buffer, const ReduceOptions& options) {
  const size_t members = impl_->members();
  const uint64_t call = call_word(Call::kAllReduce, buffer.size(), detail_of(options));
  // Ring: element i lies in chunk i / piece of the whole buffer, however it is cut into slots.
  const size_t piece = std::max<size_t>(1, (buffer.size() + members - 1) / members);
  size_t begin = 0;
  do {
    const size_t end = std::min(buffer.size(), begin + impl_->half_floats());
    const auto arrays = impl_->exchange(buffer.subspan(begin, end - begin), call);
    for (size_t from = begin; from < end;) {
      const size_t to = std::min(end, (from / piece + 1) * piece);
      std::vector<const float*> sources(arrays.begin(), arrays.begin() + members);
      for (const float*& source : sources) source += from - begin;
      reduce(sources, from / piece + 1, options, buffer.subspan(from, to - from));
      from = to;
    }
    begin = end;
  } while (begin < buffer.size());
}

void Group::reduce_scatter(std::span<const float> input, std::span<float> output,
                           const ReduceOptions& options) {
  const size_t members = impl_->members();
  NANHUNT_CHECK(input.size() == members * output.size());
  const uint64_t call = call_word(Call::kReduceScatter, input.size(), detail_of(options));
  const size_t step = impl_->half_floats() / members;
  std::vector<float> packed;  // this chunk of every member's piece, one after the other
  size_t begin = 0;
  do {
    const size_t count = std::min(step, output.size() - begin);
    packed.clear();
    for (size_t m = 0; m < members; ++m) {
      const auto part = input.subspan(m * output.size() + begin, count);
      packed.insert(packed.end(), part.begin(), part.end());
    }
    const auto arrays = impl_->exchange(packed, call);
    std::vector<const float*> sources(arrays.begin(), arrays.begin() + members);
    for (const float*& source : sources) source += impl_->index * count;
    reduce(sources, impl_->index + 1, options, output.subspan(begin, count));
    begin += count;
  } while (begin < output.size());
}

void Group::all_gather(std::span<const float> input, std::span<float> output) {
  const size_t members = impl_->members();
  NANHUNT_CHECK(output.size() == members * input.size());
  const uint64_t call = call_word(Call::kAllGather, input.size(), 0);
  size_t begin = 0;
  do {
    const size_t count = std::min(impl_->half_floats(), input.size() - begin);
    const auto arrays = impl_->exchange(input.subspan(begin, count), call);
    for (size_t m = 0; m < members; ++m) {
      std::copy_n(arrays[m], count, output.begin() + m * input.size() + begin);
    }
    begin += count;
  } while (begin < input.size());
}

void Group::broadcast(std::span<float> buffer, int root_index) {
  NANHUNT_CHECK(root_index >= 0 && root_index < size());
  const auto root = static_cast<size_t>(root_index);
  const uint64_t call = call_word(Call::kBroadcast, buffer.size(), root);
  size_t begin = 0;
  do {
    const size_t count = std::min(impl_->half_floats(), buffer.size() - begin);
    const auto chunk = buffer.subspan(begin, count);
    const auto arrays = impl_->exchange(impl_->index == root ? chunk : chunk.first(0), call);
    if (impl_->index != root) std::copy_n(arrays[root], count, chunk.begin());
    begin += count;
  } while (begin < buffer.size());
}

void Group::barrier() {
  impl_->exchange({}, call_word(Call::kBarrier, 0, 0));
}

}  // namespace nanhunt::mini
