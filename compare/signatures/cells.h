// SPDX-License-Identifier: Apache-2.0
// The origin's tensor element by element, beside what it should be: for signatures that are told by
// where it is wrong. Needs values.
#pragma once

#include <functional>

#include "compare/signatures/signature.h"

namespace nanhunt::compare {

// Elements by flat index. Ascending access reads each value once; two cursors on one tensor take
// two of these. Refers to the sides.
struct Cells {
  std::vector<int64_t> shape;
  std::vector<std::string> axes;  // by dimension; "" = not known
  int64_t count = 0;
  std::function<double(int64_t)> found;
  std::function<double(int64_t)> expected;  // empty: only finiteness is judged
  std::function<double(int64_t)> allowed;   // |found - expected| that is healthy

  bool wrong(int64_t index) const;
  int64_t columns() const { return shape.empty() ? 1 : shape.back(); }
  // Elements from one index of that dimension to the next.
  int64_t stride(size_t dimension) const;
  // The dimension of that name, or -1.
  int dimension(const std::string& axis) const;
};

// Non-finite origins: the logical tensor, no more to be said than what is not finite. Local replay:
// the leading record against what its operands give, twice the deterministic bound being healthy.
// Else the logical tensor against the reference, by the envelope's bound for elements (parameters
// of the first step, integers: exactly). nullopt without values, or where nothing tells.
std::optional<Cells> cells_of(const SignatureInput& input);

// log of the chance that `drawn` of `all` different things, drawn at random, are all among `some`.
double log_chance(int64_t some, int64_t drawn, int64_t all);

}  // namespace nanhunt::compare
