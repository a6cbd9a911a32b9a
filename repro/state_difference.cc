// SPDX-License-Identifier: Apache-2.0
#include "repro/state_difference.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "capsule/load.h"
#include "trace/region_runs.h"

namespace nanhunt::repro {
namespace {

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string place_text(const std::vector<int64_t>& shape, int64_t flat) {
  std::string text;
  for (size_t d = shape.size(); d-- > 0;) {
    text = std::to_string(flat % shape[d]) + (text.empty() ? "" : ", ") + text;
    flat /= shape[d];
  }
  return "[" + text + "]";
}

// Both sides' values of one region of B, in B's local order.
struct RegionValues {
  std::vector<double> a, b;
};

RegionValues values_in(const StatePart& part, const std::vector<double>& all_a,
                       const std::vector<double>& all_b) {
  RegionValues values;
  trace::for_each_run(*part.placement, part.local_shape, part.placement->regions[part.region], 0,
                      std::numeric_limits<int64_t>::max() / 2, [&](const trace::Run& run) {
                        for (int64_t i = 0; i < run.length; ++i) {
                          const auto at = static_cast<size_t>(run.logical + i * run.stride);
                          values.a.push_back(all_a[at]);
                          values.b.push_back(all_b[at]);
                        }
                      });
  return values;
}

// By how many elements b is a, moved on; 0 when it is not. A constant piece looks the same wherever
// it is moved to, and counts as not moved.
int64_t shift_of(const RegionValues& values) {
  const auto count = static_cast<int64_t>(values.a.size());
  for (const int64_t shift : {1, -1}) {
    int64_t matches = 0, moved = 0;
    for (int64_t i = std::max<int64_t>(0, shift); i < std::min(count, count + shift); ++i) {
      const double from = values.a[static_cast<size_t>(i - shift)],
                   here = values.b[static_cast<size_t>(i)];
      matches += same(from, here) ? 1 : 0;
      moved += same(values.a[static_cast<size_t>(i)], here) ? 0 : 1;
    }
    if (count > 2 && matches == count - 1 && moved > 0) return shift;
  }
  return 0;
}

std::string shift_text(int64_t shift) {
  return std::string("is shifted by one element ") + (shift > 0 ? "forward" : "back");
}

std::string shifted_piece(const StateTensor& b, const std::vector<double>& a_values,
                          const std::vector<double>& b_values) {
  if (b.parts.empty()) {
    const int64_t shift = shift_of({a_values, b_values});
    return shift == 0 ? "" : shift_text(shift) + " in B";
  }
  for (const StatePart& part : b.parts) {
    const int64_t shift = shift_of(values_in(part, a_values, b_values));
    if (shift != 0) return shift_text(shift) + " on rank " + std::to_string(part.rank) + " of B";
  }
  return "";
}

bool all_zero(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double value) { return value == 0; });
}

std::string amount(const StateTensor& tensor, const std::vector<double>& a,
                   const std::vector<double>& b) {
  int64_t differing = 0, first = -1;
  double squares = 0, reference = 0;  // FP64, in logical order
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(a[i])) reference += a[i] * a[i];
    if (same(a[i], b[i])) continue;
    if (differing++ == 0) first = static_cast<int64_t>(i);
    const double d = a[i] - b[i];
    if (std::isfinite(d)) squares += d * d;
  }
  if (differing == 0) return "has equal values in other bits";
  std::string text =
      "differs in " + std::to_string(differing) + " of " + std::to_string(a.size()) + " elements";
  if (reference > 0) text += ", by " + number(std::sqrt(squares / reference)) + " of its norm";
  const auto at = static_cast<size_t>(first);
  return text + "; first at " + place_text(tensor.shape, first) + ": " + number(a[at]) + " in A, " +
         number(b[at]) + " in B";
}

// Round to nearest moves a value by at most u of its size, or half a subnormal.
bool within_one_rounding(const std::vector<double>& a, const std::vector<double>& b,
                         trace::DType dtype) {
  const double relative = trace::unit_roundoff(dtype), least = trace::min_subnormal(dtype) / 2;
  for (size_t i = 0; i < a.size(); ++i) {
    if (same(a[i], b[i])) continue;
    const double larger = std::max(std::abs(a[i]), std::abs(b[i]));
    if (!(std::abs(a[i] - b[i]) <= std::max(relative * larger, least))) return false;
  }
  return true;
}

// Of two types and one shape.
std::string values_apart(const StateTensor& a, const StateTensor& b) {
  if (a.value_digest == b.value_digest && a.mask_digest == b.mask_digest)
    return "with equal values";
  const std::vector<double> mine = a.values(), other = b.values();
  if (mine.size() != other.size()) return "which are not comparable element by element";
  if (all_zero(mine) != all_zero(other))
    return std::string("all zero in ") + (all_zero(mine) ? "A" : "B");
  const bool floating = trace::is_floating(a.dtype) && trace::is_floating(b.dtype);
  const bool narrower = trace::unit_roundoff(a.dtype) > trace::unit_roundoff(b.dtype);
  if (floating && within_one_rounding(mine, other, narrower ? a.dtype : b.dtype))
    return "each value within one rounding to " + (narrower ? a.type : b.type);
  return amount(a, mine, other);
}

}  // namespace

std::string describe_difference(const StateTensor& a, const StateTensor& b) {
  if (a.shape != b.shape || a.type != b.type) {
    const std::string forms = "is " + a.type + " " + capsule::shape_text(a.shape) + " in A, " +
                              b.type + " " + capsule::shape_text(b.shape) + " in B";
    return a.shape == b.shape ? forms + ", " + values_apart(a, b) : forms;
  }
  const std::vector<double> mine = a.values(), other = b.values();
  if (mine.size() == 1) return "is " + number(mine[0]) + " in A, " + number(other[0]) + " in B";
  if (all_zero(mine) != all_zero(other))
    return std::string("is all zero in ") + (all_zero(mine) ? "A" : "B");
  const std::string shifted = shifted_piece(b, mine, other);
  return shifted.empty() ? amount(a, mine, other) : shifted;
}

}  // namespace nanhunt::repro
