// SPDX-License-Identifier: Apache-2.0
#include "capsule/load.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <set>

#include "capsule/verify.h"
#include "trace/check.h"
#include "trace/error.h"
#include "trace/region_runs.h"
#include "trace/tiling.h"

namespace nanhunt::capsule {
namespace {

using trace::Placement;
using trace::Record;
using trace::Run;

// Elements [begin, end) of the flattened logical tensor.
struct Window {
  int64_t begin = std::numeric_limits<int64_t>::max(), end = 0;

  bool meets(const Window& other) const { return begin < other.end && other.begin < end; }
};

template <class Visit>
void each_run(const Placement& placement, const std::vector<int64_t>& local_shape, Window window,
              Visit visit) {
  for (const auto& region : placement.regions)
    trace::for_each_run(placement, local_shape, region, window.begin, window.end, visit);
}

Window window_of(const Placement& placement, const std::vector<int64_t>& local_shape) {
  Window window;
  each_run(placement, local_shape, {0, std::numeric_limits<int64_t>::max() / 2},
           [&](const Run& run) {
             window.begin = std::min(window.begin, run.logical);
             window.end = std::max(window.end, run.logical + (run.length - 1) * run.stride + 1);
           });
  return window;
}

int64_t bytes_of(const Record& record) {
  return trace::elements_in(record.local_shape) *
         static_cast<int64_t>(trace::size_of(record.storage));
}

std::string loss_text(const KindFacts& facts) {
  return std::string(facts.lost) + "; broken from level " + std::string(name_of(facts.breaks)) +
         " on";
}

class Planner {
 public:
  Planner(const Capsule& capsule, int32_t rank, bool same_layout)
      : capsule_(capsule), rank_(rank), same_layout_(same_layout) {}

  Planned plan(const Wanted& wanted) const {
    const std::string name = wanted.site + " " + wanted.role;
    const KindFacts& facts = facts_of(kind_of(wanted.site, wanted.role));
    const Entry* entry = capsule_.find(wanted.site, wanted.role);
    if (entry == nullptr)
      return {Outcome::kRebuilt, name + " is not in the capsule: " + loss_text(facts), {}};
    if (facts.layout_bound) return of_own_rank(wanted, *entry, facts);
    const Record& first = record(entry->records.front());
    if (first.storage != wanted.dtype ||
        first.placement->logical_shape != wanted.placement->logical_shape) {
      return {Outcome::kCannot,
              name + " is " + std::string(trace::name_of(first.storage)) + " " +
                  shape_text(first.placement->logical_shape) + " in the capsule, here " +
                  std::string(trace::name_of(wanted.dtype)) + " " +
                  shape_text(wanted.placement->logical_shape),
              {}};
    }
    const auto own = own_piece(wanted, *entry);
    return {Outcome::kLoaded, "", own ? std::vector{*own} : sources(wanted, *entry)};
  }

  const Record& record(int index) const {
    return capsule_.step().records[static_cast<size_t>(index)];
  }

 private:
  Planned of_own_rank(const Wanted& wanted, const Entry& entry, const KindFacts& facts) const {
    const std::string name = wanted.site + " " + wanted.role;
    if (!same_layout_) {
      return {Outcome::kRebuilt,
              name + " is bound to the layout that wrote it: " + loss_text(facts),
              {}};
    }
    for (const int index : entry.records) {
      const Record& own = record(index);
      if (own.where.rank != rank_) continue;
      if (own.storage != wanted.dtype || own.local_shape != wanted.local_shape)
        return {Outcome::kCannot, name + " has another shape or type in the capsule", {}};
      return {Outcome::kLoaded, "", {index}};
    }
    return {Outcome::kRebuilt, name + " is not in the capsule: " + loss_text(facts), {}};
  }

  // The rank's own piece, where it is exactly what is wanted.
  std::optional<int> own_piece(const Wanted& wanted, const Entry& entry) const {
    for (const int index : entry.records) {
      const Record& piece = record(index);
      if (same_layout_ && piece.where.rank == rank_ && piece.local_shape == wanted.local_shape &&
          *piece.placement == *wanted.placement) {
        return index;
      }
    }
    return std::nullopt;
  }

  // Pieces that hold something of what is wanted, each region once.
  std::vector<int> sources(const Wanted& wanted, const Entry& entry) const {
    const Window window = window_of(*wanted.placement, wanted.local_shape);
    std::vector<int> found;
    std::set<std::vector<std::vector<int64_t>>> seen;
    for (const int index : entry.records) {
      const Record& piece = record(index);
      std::vector<std::vector<int64_t>> place;
      for (const auto& region : piece.placement->regions) {
        place.push_back(region.logical_start);
        place.push_back(region.extent);
      }
      if (!seen.insert(std::move(place)).second) continue;
      if (window_of(*piece.placement, piece.local_shape).meets(window)) found.push_back(index);
    }
    return found;
  }

  const Capsule& capsule_;
  int32_t rank_;
  bool same_layout_;
};

// Moves elements between packed local bytes and a window of the logical tensor.
void scatter(const std::byte* local, const Run& run, size_t size, int64_t begin,
             std::vector<std::byte>& window, std::vector<bool>& filled) {
  for (int64_t i = 0; i < run.length; ++i) {
    const auto at = static_cast<size_t>(run.logical + i * run.stride - begin);
    std::memcpy(window.data() + at * size, local + static_cast<size_t>(run.local + i) * size, size);
    filled[at] = true;
  }
}

}  // namespace

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

std::vector<std::string> Plan::obstacles() const {
  std::vector<std::string> reasons;
  for (const Planned& planned : tensors) {
    if (planned.outcome != Outcome::kLoaded) reasons.push_back(planned.why);
  }
  return reasons;
}

Plan plan_load(const Capsule& capsule, const std::vector<Wanted>& wanted, int32_t rank,
               bool same_layout) {
  const Planner planner(capsule, rank, same_layout);
  Plan plan;
  std::set<std::pair<std::string, std::string>> asked;
  for (const Wanted& tensor : wanted) {
    asked.insert({tensor.site, tensor.role});
    plan.tensors.push_back(planner.plan(tensor));
    int64_t largest = 0;
    for (const int index : plan.tensors.back().sources) {
      const int64_t bytes = bytes_of(planner.record(index));
      plan.bytes_read += bytes;
      largest = std::max(largest, bytes);
    }
    const Window window = window_of(*tensor.placement, tensor.local_shape);
    const int64_t elements = std::max<int64_t>(0, window.end - window.begin);
    // The window, and a bit for each of its elements.
    const int64_t room =
        elements * static_cast<int64_t>(trace::size_of(tensor.dtype)) + elements / 8;
    plan.peak_bytes = std::max(plan.peak_bytes, largest + room);
  }
  for (const Entry& entry : capsule.entries()) {
    if (entry.site != kRunSite && !asked.contains({entry.site, entry.role}))
      plan.unused.push_back(name_of(entry));
  }
  return plan;
}

void load(const Capsule& capsule, const Wanted& wanted, const Planned& planned,
          std::span<std::byte> out) {
  NANHUNT_CHECK(planned.outcome == Outcome::kLoaded);
  const size_t size = trace::size_of(wanted.dtype);
  NANHUNT_CHECK(out.size() == static_cast<size_t>(trace::elements_in(wanted.local_shape)) * size);
  const auto record = [&](int index) -> const Record& {
    return capsule.step().records[static_cast<size_t>(index)];
  };
  if (facts_of(kind_of(wanted.site, wanted.role)).layout_bound) {
    const auto bytes = read_piece(capsule, record(planned.sources.front()));
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return;
  }
  const Window window = window_of(*wanted.placement, wanted.local_shape);
  if (window.begin >= window.end) return;
  const auto elements = static_cast<size_t>(window.end - window.begin);
  std::vector<std::byte> logical(elements * size);
  std::vector<bool> filled(elements);
  for (const int index : planned.sources) {
    const Record& piece = record(index);
    const auto bytes = read_piece(capsule, piece);
    each_run(*piece.placement, piece.local_shape, window, [&](const Run& run) {
      scatter(bytes.data(), run, size, window.begin, logical, filled);
    });
  }
  int64_t missing = 0;
  each_run(*wanted.placement, wanted.local_shape, window, [&](const Run& run) {
    for (int64_t i = 0; i < run.length; ++i) {
      const auto at = static_cast<size_t>(run.logical + i * run.stride - window.begin);
      missing += filled[at] ? 0 : 1;
      std::memcpy(out.data() + static_cast<size_t>(run.local + i) * size,
                  logical.data() + at * size, size);
    }
  });
  if (missing > 0) {
    throw trace::Error(trace::ErrorKind::kUnreadable, "capsule " + capsule.folder().string() +
                                                          ": " + wanted.site + " " + wanted.role +
                                                          ": " + std::to_string(missing) +
                                                          " elements are in no file");
  }
}

std::string unused_text(const std::string& name) {
  const size_t space = name.rfind(' ');
  NANHUNT_CHECK(space != std::string::npos);
  const KindFacts& facts = facts_of(kind_of(name.substr(0, space), name.substr(space + 1)));
  return name +
         " is in the capsule, and this program has no such tensor: it would be dropped; broken "
         "from level " +
         std::string(name_of(facts.breaks)) + " on";
}

bool same_layout(const Capsule& capsule, const trace::RunFacts& facts) {
  const auto& written = capsule.reader().facts();
  return !written.empty() && written.front().world_size == facts.world_size &&
         written.front().mesh_size == facts.mesh_size;
}

}  // namespace nanhunt::capsule
