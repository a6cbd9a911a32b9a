// SPDX-License-Identifier: Apache-2.0
// scale_of_amax_group: ranks that should quantise by one scale do not. Either a recorded amax or
// scale that should be one over a group is what each rank's own part gives: amax = absmax of the
// operand, scale x absmax (or absmax over scale) one constant, while the parts differ; by
// statistics, so at `stats` too. Or a product is off, against what its operands give, by the ratio
// of the scales that two ranks recorded for one of its FP8 operands: it was quantised with the one
// and dequantised with the other.
#include <algorithm>
#include <cmath>
#include <map>

#include "compare/numbers.h"
#include "compare/signatures/pairs.h"
#include "oracle/rules/rule_tools.h"

namespace nanhunt::compare {
namespace {

using trace::Record;

constexpr double kSame = 1e-5;   // relative: a scale is a few FP32 operations
constexpr double kLeft = 0.05;   // of |ratio - 1|
constexpr double kApart = 0.01;  // scales nearer than that explain nothing

// A rank's scalar, and the absmax of the one operand that it was made of.
struct Scale {
  double value = 0, absmax = 0;
};

std::optional<double> absmax_of_operand(const SideStep& side, const Record& scale) {
  std::optional<double> absmax;
  for (const auto& link : scale.links) {
    const int index = side.step->find(scale.where.rank, link.sequence);
    if (index < 0) continue;
    if (absmax) return std::nullopt;
    absmax = side.record(index).statistics.absmax();
  }
  return absmax;
}

std::map<int32_t, Scale> scales_at(const SideStep& side, const Record& like) {
  std::map<int32_t, Scale> scales;
  for (const int index : records_at(side, like.what.site, like.what.phase, like.what.role)) {
    const auto& record = side.record(index);
    if (record.where.microbatch != like.where.microbatch) continue;
    const auto value = scalar_of(record);
    const auto absmax = absmax_of_operand(side, record);
    if (!value || !absmax || *value == 0 || *absmax == 0) return {};
    scales[record.where.rank] = {*value, *absmax};
  }
  return scales;
}

bool same(double a, double b) {
  return std::abs(a - b) <= kSame * std::abs(b);
}

// Whether each value follows from its own rank's absmax by one and the same rule.
bool from_own_parts(const std::map<int32_t, Scale>& scales, bool amax) {
  const auto& [value, absmax] = scales.begin()->second;
  const auto all = [&](auto&& rule) {
    return std::ranges::all_of(scales, [&](const auto& entry) { return rule(entry.second); });
  };
  if (amax) return all([](const Scale& scale) { return same(scale.value, scale.absmax); });
  return all([&](const Scale& s) { return same(s.value * s.absmax, value * absmax); }) ||
         all([&](const Scale& s) { return same(s.value / s.absmax, value / absmax); });
}

std::optional<Signature> local_scales(const SignatureInput& input) {
  const auto& record = input.side.record(input.draft.record);
  const std::string& role = record.what.role;
  const bool amax = role.find("amax") != std::string::npos;
  if (!amax && (role.find("scale") == std::string::npos || role == "loss_scale"))
    return std::nullopt;
  const auto scales = scales_at(input.side, record);
  const bool differ = std::ranges::any_of(scales, [&](const auto& entry) {
    return !same(entry.second.absmax, scales.begin()->second.absmax);
  });
  if (scales.size() < 2 || !differ || !from_own_parts(scales, amax)) return std::nullopt;
  std::string text;
  for (const auto& [rank, scale] : scales) {
    text += (text.empty() ? "" : ", ") + short_number(scale.value) + " on rank " +
            std::to_string(rank) + " whose part has absmax " + short_number(scale.absmax);
  }
  return Signature{"scale_of_amax_group", "from each rank's own part: " + text};
}

// How well n values rounded to the type tell a ratio, four standard deviations. Many ranks have
// many scales: a wider one would be met by chance.
double error_of_ratio(const Record& output) {
  const double u = trace::unit_roundoff(output.storage);
  return 1e-4 + 4 * u / std::sqrt(3 * static_cast<double>(output.statistics.count));
}

// Where the operand's scale on another rank explains the ratio.
std::optional<Signature> scale_of_operand(const SignatureInput& input, const Record& operand,
                                          double found, double error) {
  const auto own = oracle::attribute(operand, "scale");
  if (!own || *own == 0) return std::nullopt;
  const auto& what = operand.what;
  for (const int at : records_at(input.side, what.site, what.phase, what.role)) {
    const auto& other = input.side.record(at);
    const auto scale = oracle::attribute(other, "scale");
    if (other.where.rank == operand.where.rank || !scale || *scale == 0) continue;
    if (other.where.microbatch != operand.where.microbatch) continue;
    for (const double ratio : {*own / *scale, *scale / *own}) {
      if (std::abs(ratio - 1) < kApart || std::abs(found - ratio) > error * ratio) continue;
      return Signature{"scale_of_amax_group",
                       "ratio " + short_number(found) + " is that of the scales of " + what.site +
                           " " + what.role + ", " + short_number(*own) + " on rank " +
                           std::to_string(operand.where.rank) + " and " + short_number(*scale) +
                           " on rank " + std::to_string(other.where.rank)};
    }
  }
  return std::nullopt;
}

std::optional<Signature> another_ranks_scale(const SignatureInput& input) {
  const auto fit = fit_to_operands(input);
  if (!fit) return std::nullopt;
  const auto& output = input.side.record(input.draft.record);
  const double rounding = 2 * trace::unit_roundoff(output.storage) * std::abs(fit->ratio);
  if (fit->left > std::max(rounding, kLeft * std::abs(fit->ratio - 1))) return std::nullopt;
  for (const auto& link : output.links) {
    const int index = input.side.step->find(output.where.rank, link.sequence);
    if (index < 0) continue;
    const auto& operand = input.side.record(index);
    auto found = scale_of_operand(input, operand, fit->ratio, error_of_ratio(output));
    if (found) return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Signature> scale_of_amax_group(const SignatureInput& input) {
  if (auto scales = local_scales(input)) return scales;
  return another_ranks_scale(input);
}

}  // namespace nanhunt::compare
