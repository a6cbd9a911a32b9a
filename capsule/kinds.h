// SPDX-License-Identifier: Apache-2.0
// Kinds of state that a training step starts from, by the site and role of their rows, and what is
// lost without each. Names of sites and roles: docs/capsule.md.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "trace/record.h"

namespace nanhunt::capsule {

enum class Kind {
  kParameters,     // role "param" at the parameter's name
  kMasters,        // "master"
  kMoments,        // any other tensor of the optimizer at that name: "exp_avg", "exp_avg_sq"
  kOptimizerStep,  // "step", at "optimizer" or at a parameter
  kGroups,         // "optimizer.groups.N": "lr", "beta1", "weight_decay"
  kSchedule,       // "schedule"
  kScaler,         // "scaler": "scale", "growth_tracker", "hysteresis_tracker"
  kFp8,            // role "fp8_scale", "fp8_amax_history" at the module
  kRng,            // "rng", "rng.*"
  kCursor,         // "data": "consumed_samples", "epoch"
  kBatch,          // "data.batch": what the step that follows will read
  kModelState,     // "buffer" at the buffer's name: running statistics, caches
  kCounters,       // "rng.counter": keys and counters of draws that no layout changes
  kWriter,         // "capsule": who wrote it
  kSampler,        // "data.sampler": what a rank's data loader keeps
  kSettings,       // "settings": what a converted checkpoint had besides
};

// Reproducibility levels (docs/repro.md). A kind of state that is gone breaks the level named and
// all after it.
enum class Level { kState, kReplay, kConvergence };

struct KindFacts {
  Kind kind;
  std::string_view name;  // "parameters"
  Level breaks;           // the first level that does not hold without it
  bool layout_bound;      // means something in the layout that wrote it only
  std::string_view lost;  // what happens when a run goes on without it
  // Ranks keep their own between synchronisations (running statistics under DDP): a rank gets its
  // own again in the same layout, and the first copy in another.
  bool copies_may_differ = false;
  bool expected = true;  // a state without it lacks something
};

std::span<const KindFacts> all_kinds();
const KindFacts& facts_of(Kind kind);
std::string_view name_of(Level level);

Kind kind_of(const std::string& site, const std::string& role);

}  // namespace nanhunt::capsule
