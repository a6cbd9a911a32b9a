// SPDX-License-Identifier: Apache-2.0
// What several signatures need: the origin's logical tensor on both sides, prints of whole records,
// and scalars.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compare/signatures/signature.h"

namespace nanhunt::compare {

struct LogicalPair {
  const oracle::Logical* candidate = nullptr;
  const oracle::Logical* reference = nullptr;
};

// The origin's tensor where both sides have it complete, finite and of one shape.
std::optional<LogicalPair> logical_pair(const SignatureInput& input);
// Sum over the record's regions.
trace::RegionPrint print_of(const trace::Record& record);
// True when the record's regions cover its whole logical tensor.
bool covers_all(const trace::Record& record);
// The value of a record of one element.
std::optional<double> scalar_of(const trace::Record& record);
// Whether a mask says masked by true (attribute {"true":"masked"}).
bool true_is_masked(const trace::Record& mask);
// ||a - b|| / ||reference|| by sketches.
double sketch_distance(const trace::Sketch& a, const trace::Sketch& b,
                       const trace::RegionPrint& reference);
trace::Sketch scaled(const trace::Sketch& sketch, double factor);

// y = ratio x by least squares, and what that leaves.
struct Fit {
  double ratio = 1;
  double left = 0;   // ||y - ratio x|| / ||x||
  double share = 1;  // ||x|| / ||reference||, where x is the reference without its bias
};

// Whether a ratio says something: both complete, of one shape and finite, the reference not 0, and
// enough elements, since a scalar always has one.
bool has_ratio(const oracle::Logical& candidate, const oracle::Logical& reference);

// Gradients that must share a ratio before it is called common.
inline constexpr size_t kFewestSharing = 2;

// The upper one of an even number; not of nothing.
double median(std::vector<double> values);

// The gradient of a parameter in that phase.
bool is_gradient(const trace::What& what, trace::Phase phase);

// The sketch of the wrong copy, where the leading record is one, else of the whole tensor.
trace::Sketch sketch_of_wrong(const SignatureInput& input, const LogicalPair& pair);

// Axes of ranks that have that size: "tp", "tp or dp"; "" when none has.
std::string axes_of_size(const SideStep& side, int32_t size);
// Sizes of the axes of ranks, those beyond 1.
std::set<int32_t> axis_sizes(const SideStep& side);

// Where local_replay leads: the leading record against what its operands give, without a bias that
// was added; sums in FP64 in local order. nullopt for other rules and values that are not finite.
std::optional<Fit> fit_to_operands(const SignatureInput& input);
// Of sketches, which are linear. The reference's must not be 0.
Fit fit_sketches(const trace::Sketch& candidate, const trace::Sketch& reference);

}  // namespace nanhunt::compare
