// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/shared_block.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>
#include <new>
#include <thread>

#include "cases/mini/communicator.h"
#include "trace/check.h"

namespace nanhunt::mini {
namespace {

constexpr uint64_t kMagic = 0x6D696E692D626C6Bu;  // "mini-blk"
constexpr uint64_t kPage = 4096;
constexpr uint64_t kSlotsPerRank = 32;  // groups that a rank may be in, all lanes counted
constexpr long kPollNanoseconds = 50'000'000;

uint64_t round_up(uint64_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

// Not the private kind of futex: the waiters may be processes.
void futex_wait(std::atomic<uint32_t>& word, uint32_t expected) {
  const timespec poll = {0, kPollNanoseconds};
  syscall(SYS_futex, &word, FUTEX_WAIT, expected, &poll, nullptr, 0);
}

void futex_wake_all(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// A rank that dies with the lock held aborts the block, so nobody spins here for ever.
class TableLock {
 public:
  explicit TableLock(SharedBlock& block) : block_(block) {
    while (block_.table_lock.exchange(1, std::memory_order_acquire) != 0) {
      throw_if_aborted(block_);
      std::this_thread::yield();
    }
  }
  ~TableLock() { block_.table_lock.store(0, std::memory_order_release); }
  TableLock(const TableLock&) = delete;
  TableLock& operator=(const TableLock&) = delete;

 private:
  SharedBlock& block_;
};

bool same_group(const SharedGroup& group, const std::vector<int>& ranks, int lane) {
  return group.lane == lane && group.size == static_cast<int>(ranks.size()) &&
         std::equal(ranks.begin(), ranks.end(), group.ranks);
}

// A short spin saves the system call when every rank has a core to itself.
int spins_before_sleep(const SharedBlock& block) {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return block.world_size <= cores ? 4000 : 0;
}

}  // namespace

uint64_t block_bytes(int world_size, uint64_t slot_bytes) {
  const auto slots = static_cast<uint64_t>(world_size) * kSlotsPerRank;
  return round_up(sizeof(SharedBlock)) + slots * round_up(slot_bytes);
}

SharedBlock* format_block(void* memory, int world_size, uint64_t slot_bytes) {
  NANHUNT_CHECK(world_size >= 1 && world_size <= kMaxRanks);
  auto* block = new (memory) SharedBlock;
  block->world_size = world_size;
  block->slot_bytes = round_up(slot_bytes);
  block->bytes = block_bytes(world_size, slot_bytes);
  block->used = round_up(sizeof(SharedBlock));
  block->magic = kMagic;
  return block;
}

void abort_block(SharedBlock& block, const std::string& why) {
  uint32_t untouched = 0;
  if (!block.aborted.compare_exchange_strong(untouched, 1)) return;
  const size_t length = std::min(why.size(), sizeof(block.why) - 1);
  std::copy_n(why.data(), length, block.why);
  block.why[length] = '\0';
  block.aborted.store(2, std::memory_order_release);
  for (SharedGroup& group : block.groups) futex_wake_all(group.generation);
}

void throw_if_aborted(const SharedBlock& block) {
  const uint32_t aborted = block.aborted.load(std::memory_order_acquire);
  if (aborted == 0) return;
  throw CommunicatorAborted(aborted == 2 ? block.why : "another rank ended the run");
}

SharedGroup& find_group(SharedBlock& block, const std::vector<int>& ranks, int lane) {
  const TableLock lock(block);
  for (SharedGroup& group : block.groups) {
    if (group.size != 0 && same_group(group, ranks, lane)) return group;
    if (group.size != 0) continue;
    group.lane = lane;
    std::copy(ranks.begin(), ranks.end(), group.ranks);
    group.slots = block.used;
    block.used += ranks.size() * block.slot_bytes;
    NANHUNT_CHECK(block.used <= block.bytes);
    group.size = static_cast<int32_t>(ranks.size());
    return group;
  }
  NANHUNT_CHECK(!"a free entry in the table of groups");
}

void wait_for_all(const SharedBlock& block, SharedGroup& group) {
  throw_if_aborted(block);
  const uint32_t generation = group.generation.load(std::memory_order_acquire);
  const auto last = static_cast<uint32_t>(group.size) - 1;
  if (group.arrived.fetch_add(1, std::memory_order_acq_rel) == last) {
    group.arrived.store(0, std::memory_order_relaxed);
    group.generation.fetch_add(1, std::memory_order_release);
    futex_wake_all(group.generation);
    return;
  }
  int spins = spins_before_sleep(block);
  while (group.generation.load(std::memory_order_acquire) == generation) {
    throw_if_aborted(block);
    if (--spins > 0) continue;
    futex_wait(group.generation, generation);
  }
}

}  // namespace nanhunt::mini
