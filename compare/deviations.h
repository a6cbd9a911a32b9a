// SPDX-License-Identifier: Apache-2.0
// Both sides' logical tensors matched by what, and how far the candidate's are from the
// reference's: within the envelope, undecided, out, or unjudged with the reason.
//
// Never judged here: the update phase (early Adam is lr*sign(grad), so an envelope of parameters
// means nothing there; the update rules judge it), and collectives' operands and results, which a
// reference of one rank does not have. Exact: parameters at the start of the first step, and
// integer data.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compare/side_step.h"
#include "oracle/envelope.h"

namespace nanhunt::compare {

// What the reference says about one logical tensor.
struct Comparison {
  int candidate = -1;  // index into the candidate's logicals
  int reference = -1;
  oracle::Deviation deviation;
  Standing standing = Standing::kUnjudged;
  std::string why_not;                            // unjudged: the reason
  std::string rule;                               // reference_envelope, initial_state, same_data
  oracle::Metric metric = oracle::Metric::kNorm;  // the one that decided
  double measured = 0;
  double low = 0, high = 0;  // bounds of that metric
  double scale = 0;          // metric operands: what the deviation is relative to
};

struct Comparisons {
  std::vector<Comparison> pairs;    // in the candidate's order of logicals
  std::vector<int> only_candidate;  // indices of logicals without partner
  std::vector<int> only_reference;
  int64_t compared = 0;  // judged pairs
};

struct Judge {
  const oracle::Envelope* envelope = nullptr;
  const oracle::Thresholds* thresholds = nullptr;
  bool first_step = false;
  int64_t deviations_judged = 1;  // metrics of all tensors and steps, for the family rate
};

Comparisons compare_steps(const SideStep& candidate, const SideStep& reference, const Judge& judge);

// Standing of a relative norm that was measured on a sketch.
Standing stand(double norm, const std::optional<oracle::Bounds>& bounds);
std::optional<oracle::Bounds> norm_bounds(const Judge& judge, const trace::What& what);
// "relative norm": what a measured value of that metric is.
std::string unit_of(oracle::Metric metric);
// Metrics of the step's logical tensors that can be judged.
int64_t count_deviations(const SideStep& side);
bool by_envelope(trace::Phase phase);
// Whether deviations of one sign tell of a biased rounding: where the recorded types are so much
// coarser than those that the ops of both sides compute in that no common factor (a denominator, a
// row's scale), rounded there, can have moved all values by as much.
bool is_sign_judged(const trace::Record& candidate, const trace::Record& reference);
// Why a comparison is left unjudged on purpose.
inline constexpr std::string_view kByRulesOnly = "judged by rules only";

}  // namespace nanhunt::compare
