// SPDX-License-Identifier: Apache-2.0
// The memory that the ranks of a run share, the same for threads and processes: a header with the
// abort flag and the table of groups, then the groups' slots. Plain data and lock-free atomics
// only, no pointers: processes map it at different addresses.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nanhunt::mini {

inline constexpr int kMaxRanks = 64;
inline constexpr int kMaxGroups = 256;
inline constexpr size_t kSlotBytes = 256 * 1024;  // what launch() gives each member of a group

// What one (ranks, lane) group shares. Slots: one per member, each of two halves that take turns.
struct SharedGroup {
  int32_t size = 0;  // 0: this entry of the table is free
  int32_t lane = 0;
  int32_t ranks[kMaxRanks] = {};
  uint64_t slots = 0;                   // offset from the block's start
  std::atomic<uint32_t> arrived{0};     // at the current barrier
  std::atomic<uint32_t> generation{0};  // barriers passed; ranks wait on it
  uint64_t call[2][kMaxRanks] = {};     // what each member calls, per half
};

struct SharedBlock {
  uint64_t magic = 0;
  int32_t world_size = 0;
  uint64_t slot_bytes = 0;            // per member of a group
  uint64_t bytes = 0;                 // of the whole block
  uint64_t used = 0;                  // guarded by table_lock
  std::atomic<uint32_t> attached{0};  // ranks that have mapped the block
  std::atomic<uint32_t> aborted{0};   // 0 no, 1 reason being written, 2 reason complete
  std::atomic<uint32_t> table_lock{0};
  char why[480] = {};
  SharedGroup groups[kMaxGroups];
};

static_assert(std::atomic<uint32_t>::is_always_lock_free);

// Bytes of a block; slots are pages that nobody touches until their group is used.
uint64_t block_bytes(int world_size, uint64_t slot_bytes);
// Lays out a block in zeroed memory of block_bytes.
SharedBlock* format_block(void* memory, int world_size, uint64_t slot_bytes);

// Ends every wait. The first reason is kept.
void abort_block(SharedBlock& block, const std::string& why);
// Throws CommunicatorAborted once the block is aborted.
void throw_if_aborted(const SharedBlock& block);

// The entry of this group, made by whichever member asks first.
SharedGroup& find_group(SharedBlock& block, const std::vector<int>& ranks, int lane);

// Waits until all members are here. Ends within 50 ms of an abort, with CommunicatorAborted.
void wait_for_all(const SharedBlock& block, SharedGroup& group);

}  // namespace nanhunt::mini
