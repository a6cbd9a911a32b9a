// SPDX-License-Identifier: Apache-2.0
#include "repro/state_difference.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "trace/region_runs.h"

namespace nanhunt::repro {
namespace {

std::vector<double> values_of(const StateSide& side) {
  const int64_t row =
      side.logical.shape.empty() ? 1 : std::max<int64_t>(1, side.logical.shape.back());
  return oracle::logical_values(side.step, side.reader, side.logical, 0,
                                static_cast<int64_t>(side.logical.count) / row);
}

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

RegionValues values_in(const StateSide& b, const oracle::Piece& piece,
                       const std::vector<double>& all_a, const std::vector<double>& all_b) {
  const trace::Record& record = b.step.records[static_cast<size_t>(piece.record)];
  RegionValues values;
  trace::for_each_run(*record.placement, record.local_shape,
                      record.placement->regions[static_cast<size_t>(piece.region)], 0,
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

std::string shifted_piece(const StateSide& b, const std::vector<double>& a_values,
                          const std::vector<double>& b_values) {
  for (const oracle::Piece& piece : b.logical.pieces) {
    const int64_t shift = shift_of(values_in(b, piece, a_values, b_values));
    if (shift == 0) continue;
    const trace::Record& record = b.step.records[static_cast<size_t>(piece.record)];
    return std::string("is shifted by one element ") + (shift > 0 ? "forward" : "back") +
           " on rank " + std::to_string(record.where.rank) + " of B";
  }
  return "";
}

bool all_zero(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double value) { return value == 0; });
}

std::string amount(const StateSide& side, const std::vector<double>& a,
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
  return text + "; first at " + place_text(side.logical.shape, first) + ": " + number(a[at]) +
         " in A, " + number(b[at]) + " in B";
}

}  // namespace

std::string describe_values(const StateSide& a, const StateSide& b) {
  const std::vector<double> mine = values_of(a), other = values_of(b);
  if (mine.size() == 1) return "is " + number(mine[0]) + " in A, " + number(other[0]) + " in B";
  if (all_zero(mine) != all_zero(other))
    return std::string("is all zero in ") + (all_zero(mine) ? "A" : "B");
  const std::string shifted = shifted_piece(b, mine, other);
  return shifted.empty() ? amount(a, mine, other) : shifted;
}

}  // namespace nanhunt::repro
