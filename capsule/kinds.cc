// SPDX-License-Identifier: Apache-2.0
#include "capsule/kinds.h"

#include <array>

#include "trace/check.h"

namespace nanhunt::capsule {
namespace {

// Indexed by the number of the kind.
constexpr std::array<KindFacts, 16> kKinds{{
    {Kind::kParameters, "parameters", Level::kState, false, "another model"},
    {Kind::kMasters, "masters", Level::kState, false,
     "rebuilt from the parameters: what their type rounds away is gone"},
    {Kind::kMoments, "moments", Level::kState, false,
     "rebuilt as zeros: the optimizer starts anew, the trajectory changes"},
    {Kind::kOptimizerStep, "optimizer step", Level::kState, false,
     "rebuilt as 0: bias corrections start anew, the trajectory changes"},
    {Kind::kGroups, "parameter groups", Level::kState, false,
     "taken from the configuration, which may be another"},
    {Kind::kSchedule, "schedule", Level::kState, false,
     "rebuilt at its start: learning rates are others"},
    {Kind::kScaler, "scaler", Level::kState, false,
     "rebuilt at its start: steps are skipped until the scale fits again"},
    {Kind::kFp8, "FP8 scales and histories", Level::kReplay, true,
     "rebuilt from the next steps: other scales, other roundings"},
    {Kind::kRng, "RNG streams", Level::kReplay, true, "seeded anew: other masks and draws"},
    {Kind::kCursor, "data cursor", Level::kState, false,
     "data from the start: samples are seen twice"},
    {Kind::kBatch, "next batch", Level::kReplay, false,
     "nothing to check the data loader against: it may give other samples"},
    {Kind::kModelState, "buffers", Level::kState, false, "rebuilt: running statistics start anew",
     true},
    {Kind::kCounters, "RNG counters", Level::kReplay, false, "seeded anew: other masks and draws"},
    {Kind::kWriter, "writer", Level::kState, false, "nobody can say that one run wrote it"},
    {Kind::kSampler, "sampler", Level::kState, true, "data from the start: samples are seen twice"},
    {Kind::kSettings, "settings", Level::kState, false,
     "taken from the configuration, which may be another", false, false},
}};

bool is_under(const std::string& site, std::string_view name) {
  return site == name || (site.starts_with(name) && site[name.size()] == '.');
}

}  // namespace

std::span<const KindFacts> all_kinds() {
  return kKinds;
}

const KindFacts& facts_of(Kind kind) {
  const auto index = static_cast<size_t>(kind);
  NANHUNT_CHECK(index < kKinds.size() && kKinds[index].kind == kind);
  return kKinds[index];
}

std::string_view name_of(Level level) {
  switch (level) {
    case Level::kState:
      return "state";
    case Level::kReplay:
      return "replay";
    case Level::kConvergence:
      return "convergence";
  }
  NANHUNT_CHECK(false && "unknown level");
}

Kind kind_of(const std::string& site, const std::string& role) {
  if (is_under(site, "capsule")) return Kind::kWriter;
  if (is_under(site, "rng.counter")) return Kind::kCounters;
  if (is_under(site, "rng")) return Kind::kRng;
  if (is_under(site, "data.batch")) return Kind::kBatch;
  if (is_under(site, "data.sampler")) return Kind::kSampler;
  if (is_under(site, "data")) return Kind::kCursor;
  if (is_under(site, "schedule")) return Kind::kSchedule;
  if (is_under(site, "scaler")) return Kind::kScaler;
  if (is_under(site, "settings")) return Kind::kSettings;
  if (role == "step") return Kind::kOptimizerStep;
  if (is_under(site, "optimizer")) return Kind::kGroups;
  if (role.starts_with("fp8_")) return Kind::kFp8;
  if (role == "param") return Kind::kParameters;
  if (role == "master") return Kind::kMasters;
  if (role == "buffer") return Kind::kModelState;
  return Kind::kMoments;
}

}  // namespace nanhunt::capsule
