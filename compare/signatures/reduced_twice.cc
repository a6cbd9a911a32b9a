// SPDX-License-Identifier: Apache-2.0
// reduced_twice: a term that every rank of a group holds was summed over the group, so it is in the
// result n times. For a site with a bias: candidate - reference is (n-1) times the bias in every
// row. With values that is fitted row by row. Without them two numbers must agree, the sum of the
// differences and their norm; a sum too small to show leaves it unsaid.
#include <cmath>

#include "compare/numbers.h"
#include "compare/region_cells.h"
#include "compare/signatures/pairs.h"

namespace nanhunt::compare {
namespace {

constexpr double kValueResidual = 0.2;  // of ||difference||, left after the fit
constexpr double kSketchError = 0.35;   // of a norm out of a sketch of 64 buckets, three sigma
constexpr double kSumTolerance = 0.1;   // relative, of the sums of differences

// ||difference - (n-1) bias|| / ||difference||, for all n at once.
std::optional<double> fitted(const SignatureInput& input, const LogicalPair& pair,
                             const oracle::Logical& bias, int n) {
  if (!has_values(input.side, *pair.candidate) || !has_values(*input.reference, *pair.reference) ||
      !has_values(input.side, bias)) {
    return std::nullopt;
  }
  LogicalWindow candidate(input.side, *pair.candidate);
  LogicalWindow reference(*input.reference, *pair.reference);
  LogicalWindow term(input.side, bias);
  const int64_t length = candidate.row_length();
  double left = 0, all = 0;
  for (int64_t i = 0; i < static_cast<int64_t>(pair.candidate->count); ++i) {
    const double difference = candidate.at(i) - reference.at(i);
    const double rest = difference - (n - 1) * term.at(i % length);
    left += rest * rest;
    all += difference * difference;
  }
  if (all == 0) return std::nullopt;
  return std::sqrt(left / all);
}

bool sums_agree(const SignatureInput& input, const LogicalPair& pair, const oracle::Logical& bias,
                int n) {
  const double length = static_cast<double>(bias.count);
  const double rows = static_cast<double>(pair.candidate->count) / length;
  const double expected = rows * (n - 1) * bias.statistics.sum;
  const double measured = pair.candidate->statistics.sum - pair.reference->statistics.sum;
  const auto bounds = norm_bounds(input.judge, pair.candidate->what);
  // Roundings of a healthy run add up to about the norm of the whole healthy deviation.
  const double noise = (bounds ? bounds->hi : 0) * std::sqrt(pair.reference->print.sum_squares);
  if (std::abs(expected) < 4 * noise) return false;
  if (std::abs(measured - expected) > noise + kSumTolerance * std::abs(expected)) return false;
  const double norm = std::sqrt(rows) * (n - 1) * std::sqrt(bias.print.sum_squares);
  const double seen = trace::sketch_norm(
      trace::subtract(pair.candidate->print.sketch, pair.reference->print.sketch));
  return std::abs(seen - norm) <= kSketchError * norm;
}

}  // namespace

std::optional<Signature> reduced_twice(const SignatureInput& input) {
  const auto pair = logical_pair(input);
  if (!pair || pair->candidate->partial) return std::nullopt;
  const auto& what = pair->candidate->what;
  const auto* bias = find_logical(
      input.side, {what.step, what.site + ".bias", trace::Phase::kForward, "param", 0});
  if (bias == nullptr || !bias->complete || bias->count == 0 || pair->candidate->shape.empty() ||
      static_cast<uint64_t>(pair->candidate->shape.back()) != bias->count ||
      bias->print.sum_squares == 0) {
    return std::nullopt;
  }
  for (const int n : axis_sizes(input.side)) {
    const auto residual = fitted(input, *pair, *bias, n);
    const bool fits = residual ? *residual <= kValueResidual : sums_agree(input, *pair, *bias, n);
    if (!fits) continue;
    return Signature{"reduced_twice",
                     what.site + ".bias is in the result " + std::to_string(n) + " times" +
                         (residual ? ", residual " + short_number(*residual)
                                   : ", by the sum and the norm of the differences")};
  }
  return std::nullopt;
}

}  // namespace nanhunt::compare
