// SPDX-License-Identifier: Apache-2.0
// Build against build: the case's reference side is the old build (A), its failing side the new one
// (B). The levels say whether the new build goes on from the old one's state as the old one would.
// The parts say why not, the first four from both builds running by themselves:
//
//   configuration     facts and defaults that differ, ops that compute another formula
//   names             parameters and sites that one alone has; renamed ones, by shape and values
//   placements        the same parameter in another shape or held otherwise
//   fresh start       the state that both draw from the same settings
//   parameters alone  both go on from the parameters alone: a difference that is gone then is
//                     carried by what the optimizer keeps
//   round trip        what the new build saved after loading, loaded by the old one again: the same
//                     state after each hop, and the old build's own steps from there
//
// A replay is held bit for bit, and where bits differ, or meshes do, inside the envelope of
// perturbed runs of the old build. A build that does not load the other's state ends the question
// with its own words; it is "different" where names, shapes or types tell why, else "unknown".
#pragma once

#include <cstdint>

#include "ablate/bench.h"
#include "repro/report.h"

namespace nanhunt::repro {

// 0 < at < steps of the case. Throws Error(kUsage) where the subject saves or resumes no capsules,
// Error(kUnreadable) where one of the builds does not run by itself.
Report build_and_build(ablate::Bench& bench, const oracle::Thresholds& thresholds, int64_t at);

}  // namespace nanhunt::repro
