// SPDX-License-Identifier: Apache-2.0
// Collectives between the ranks of the bundled subject, over a block of memory that they share:
// ranks are threads of one process or processes of their own (POSIX shared memory; executed, never
// forked after LibTorch has started). Reduction order and accumulation type are defined and chosen,
// so equal inputs give equal bits in every launch. Buffers are packed FP32 arrays; `storage` is the
// type that the program means them to have: each hop of a reduction with accumulate = storage
// rounds to it, and the final result is rounded to it always.
//
// A rank that dies or fails aborts the others: every wait ends within 2 s with CommunicatorAborted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "trace/dtype.h"
#include "trace/placement.h"

namespace nanhunt::mini {

enum class ReduceOrder {
  kRank,
  kRing,
  kTree
};  // rank: 0+1+2+...; tree: pairwise; ring: chunk c starts at rank c+1

struct ReduceOptions {
  ReduceOrder order = ReduceOrder::kRank;
  bool accumulate_in_storage = false;
  trace::DType storage = trace::DType::kFloat32;
  trace::ReduceOp op = trace::ReduceOp::kSum;
};

struct CommunicatorAborted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What the ranks of one run share. Created by the launcher; attached by each rank.
class World {
 public:
  virtual ~World() = default;  // unmaps
  virtual int size() const = 0;
  // Makes every present and future wait of every rank end with CommunicatorAborted.
  virtual void abort(const std::string& why) = 0;
};

std::unique_ptr<World> create_thread_world(int size, size_t bytes_per_rank);
// Shared memory object `name` ("/mini-PID"): the launcher creates, the ranks attach, the last of
// them unlinks (or the launcher at its end).
std::unique_ptr<World> create_process_world(const std::string& name, int size,
                                            size_t bytes_per_rank);
std::unique_ptr<World> attach_process_world(const std::string& name);

// One group as one rank sees it. All members call the same collectives in the same order; one
// thread per group at a time (the communication thread has groups of its own: `lane` keeps them
// apart).
class Group {
 public:
  // `ranks` sorted global ranks, `rank` the caller's global rank. Groups with other ranks or lane
  // are independent.
  Group(World& world, std::vector<int> ranks, int rank, int lane = 0);
  ~Group();
  int size() const;
  int index() const;  // position of this rank in the group
  const std::vector<int>& ranks() const;

  void all_reduce(std::span<float> buffer, const ReduceOptions& options);  // in place
  // input: size() equal pieces; output: the reduced piece of this rank.
  void reduce_scatter(std::span<const float> input, std::span<float> output,
                      const ReduceOptions& options);
  // output: size() pieces in group order.
  void all_gather(std::span<const float> input, std::span<float> output);
  void broadcast(std::span<float> buffer, int root_index);
  void barrier();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nanhunt::mini
