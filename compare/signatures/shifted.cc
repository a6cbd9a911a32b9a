// SPDX-License-Identifier: Apache-2.0
// shifted: wrong elements hold what the neighbour along one dimension should hold: labels or
// positions off by one, a shard that starts one element late. Of the wrong elements with a
// neighbour there, at least half of all, what the neighbour's value leaves is at most kLeft of what
// their own does. At least kFewest wrong indices along that dimension, since two that change places
// are order_swapped's. Needs values.
#include <algorithm>
#include <cmath>
#include <set>

#include "compare/numbers.h"
#include "compare/signatures/cells.h"

namespace nanhunt::compare {
namespace {

constexpr double kLeft = 0.2;  // root of a ratio of sums of squares
constexpr size_t kFewest = 3;
constexpr int64_t kFewestElements = 8;
constexpr int64_t kLook = 4096;  // wrong elements after which a bad fit is given up

struct Shift {
  int64_t wrong = 0, with_neighbour = 0;
  double own = 0, neighbour = 0;  // sums of squares, over those with a neighbour
  std::set<int64_t> indices;      // along the dimension, up to kFewest
  double left() const { return own > 0 ? std::sqrt(neighbour / own) : HUGE_VAL; }
};

Shift shift_along(const Cells& cells, const Cells& ahead, size_t dimension, int offset) {
  const int64_t stride = cells.stride(dimension), extent = cells.shape[dimension];
  Shift shift;
  for (int64_t i = 0; i < cells.count; ++i) {
    if (!cells.wrong(i)) continue;
    ++shift.wrong;
    const int64_t index = i / stride % extent;
    if (index + offset < 0 || index + offset >= extent) continue;
    ++shift.with_neighbour;
    if (shift.indices.size() < kFewest) shift.indices.insert(index);
    const double found = cells.found(i);
    const double own = found - cells.expected(i);
    const double neighbour = found - ahead.expected(i + offset * stride);
    shift.own += own * own;
    shift.neighbour += neighbour * neighbour;
    if (shift.with_neighbour % kLook == 0 && shift.left() > 0.5) break;
  }
  return shift;
}

bool is_shift(const Shift& shift) {
  return shift.indices.size() >= kFewest && shift.with_neighbour >= kFewestElements &&
         2 * shift.with_neighbour >= shift.wrong && shift.left() <= kLeft;
}

std::string axis_name(const Cells& cells, size_t dimension) {
  const std::string& axis = cells.axes.size() > dimension ? cells.axes[dimension] : "";
  return axis.empty() ? "index of dimension " + std::to_string(dimension) : axis;
}

}  // namespace

std::optional<Signature> shifted(const SignatureInput& input) {
  const auto cells = cells_of(input);
  if (!cells || !cells->expected) return std::nullopt;
  const auto ahead = cells_of(input);
  for (size_t d = cells->shape.size(); d-- > 0;) {
    for (const int offset : {-1, 1}) {
      const Shift shift = shift_along(*cells, *ahead, d, offset);
      if (!is_shift(shift)) continue;
      return Signature{"shifted", std::to_string(shift.with_neighbour) + " of " +
                                      std::to_string(shift.wrong) +
                                      " wrong elements hold the value of the " +
                                      (offset < 0 ? "previous " : "next ") + axis_name(*cells, d) +
                                      ", residual " + short_number(shift.left())};
    }
  }
  return std::nullopt;
}

}  // namespace nanhunt::compare
