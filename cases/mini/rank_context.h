// SPDX-License-Identifier: Apache-2.0
// What one rank of the subject is made of: its place in the mesh, its groups, its taps, and where
// in the step it is. Owned by the rank's compute thread; lives as long as the run of that rank.
//
// Mesh: tensor parallelism runs fastest, rank = dp_rank * tp + tp_rank. Each data-parallel rank
// takes consecutive samples of the step, microbatch after microbatch (sample_split.h).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "cases/mini/communicator.h"
#include "cases/mini/config.h"
#include "cases/mini/faults.h"
#include "cases/mini/placements.h"
#include "cases/mini/releases.h"
#include "hooks/rank_taps.h"

namespace nanhunt::mini {

struct Mesh {
  int rank = 0, tp_rank = 0, dp_rank = 0;
  Group tp;
  Group dp;
  Group dp_overlapped;  // same ranks; used by the communication thread alone
  Group world;

  Mesh(World& shared, const Config& config, int of_rank);
};

struct RankContext {
  const Config& config;
  const Fault& fault;
  hooks::RankTaps& taps;
  Mesh& mesh;
  Placements& placements;
  int64_t step = 0;
  int32_t microbatch = 0;
  // Collectives so far in this step, by group (global ranks). Counted at issue, on the compute
  // thread.
  std::map<std::vector<int>, int64_t> group_sequence = {};

  bool is(FaultName name) const { return fault.is(name, step); }
  // Faults of one layer.
  bool is_in_layer(FaultName name, int64_t layer) const { return is(name) && fault.layer == layer; }

  // Faults of a run that goes on from a capsule.
  bool is_resumed_with(FaultName name) const { return config.first_step > 0 && is(name); }
  // Updates that the optimizer counts before this step.
  int64_t optimizer_step() const {
    const bool anew = is_resumed_with(FaultName::kStepNotRestored) ||
                      (config.first_step > 0 && parameters_alone(config, fault));
    return anew ? step - config.first_step : step;
  }

  bool sequence_parallel() const { return config.sequence_parallel && config.tp > 1; }
  ReduceOptions reduce_options(trace::DType storage,
                               trace::ReduceOp op = trace::ReduceOp::kSum) const {
    return {config.reduce_order, config.accumulate_in_storage, storage, op};
  }
};

}  // namespace nanhunt::mini
