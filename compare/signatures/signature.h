// SPDX-License-Identifier: Apache-2.0
// Signatures: recognised shapes of wrongness of one origin. Each is a function that looks at the
// origin's records and says what it recognises, with the numbers, or nothing. They name kinds of
// fault; none of them adds a finding or takes one away. Definitions: docs/verdict.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/deviations.h"
#include "compare/origins.h"

namespace nanhunt::compare {

struct SignatureInput {
  const SideStep& side;       // the origin's
  const SideStep* reference;  // nullptr in a scan, and for origins of the reference itself
  const Judge& judge;
  const Draft& draft;
  // The steps before of both, where they were captured, else nullptr.
  const trace::Step* previous = nullptr;
  const trace::Step* reference_previous = nullptr;
};

struct Signature {
  std::string name;
  std::string detail;
};

using Recogniser = std::optional<Signature> (*)(const SignatureInput&);

std::optional<Signature> after_equals_before(const SignatureInput& input);
std::optional<Signature> stale(const SignatureInput& input);
std::optional<Signature> wrong_group(const SignatureInput& input);
std::optional<Signature> missing_reduction(const SignatureInput& input);
std::optional<Signature> reduced_twice(const SignatureInput& input);
std::optional<Signature> norm_counts_replicas(const SignatureInput& input);
std::optional<Signature> masked_row(const SignatureInput& input);
std::optional<Signature> overflow_in_product(const SignatureInput& input);
std::optional<Signature> adam_bias_correction(const SignatureInput& input);
std::optional<Signature> scale_of_amax_group(const SignatureInput& input);
std::optional<Signature> loss_scale_left_in(const SignatureInput& input);
std::optional<Signature> off_by_log_size(const SignatureInput& input);
std::optional<Signature> constant_ratio(const SignatureInput& input);
std::optional<Signature> order_swapped(const SignatureInput& input);
std::optional<Signature> lines_swapped(const SignatureInput& input);
std::optional<Signature> shifted(const SignatureInput& input);
std::optional<Signature> only_masked_positions(const SignatureInput& input);
std::optional<Signature> only_late_positions(const SignatureInput& input);
std::optional<Signature> lane_pattern(const SignatureInput& input);
std::optional<Signature> one_rank(const SignatureInput& input);

// In the order in which they are tried: the more specific first.
const std::vector<Recogniser>& recognisers();
std::optional<Signature> recognise(const SignatureInput& input);

}  // namespace nanhunt::compare
