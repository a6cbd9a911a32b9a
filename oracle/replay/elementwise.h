// SPDX-License-Identifier: Apache-2.0
// Elementwise ops (replay.h) made and carried out. A record may be the sum of several: a gradient
// is that of what its consumers handed on.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "oracle/replay/replay.h"

namespace nanhunt::oracle {

// A function of one number: its value, and what a rounding of relative error u may move it by, over
// u.
struct Term {
  double value, magnitude;
};
// A loop over many x, made of a lambda that captures nothing and gives the Term of one.
using ByElement = void (*)(const double* x, size_t count, double* values, double* magnitudes);
template <class F>
constexpr ByElement by_element(F) {
  return [](const double* x, size_t count, double* values, double* magnitudes) {
    for (size_t i = 0; i < count; ++i) {
      const Term term = F{}(x[i]);
      values[i] = term.value;
      magnitudes[i] = term.magnitude;
    }
  };
}

// y = f(x) and dx = g f'(x) of the op's only activation.
std::optional<Elementwise> pointwise(Call& call, ByElement function, double roundings);
std::optional<Elementwise> pointwise_gradient(Call& call, Operand& gradient, ByElement slope,
                                              double roundings);
// The input itself: no rounding.
Elementwise handed_on(Operand& input);

// In one piece, in the order of the target; nullopt when an input has another shape.
std::optional<Recomputed> in_one_piece(const Elementwise& op, const trace::Record& target);

// Elements of a record from `begin` on: as recorded, and as recomputed.
struct Compared {
  int64_t begin;
  std::span<const double> found, values, magnitudes;
  double roundings;  // the same in all of a record
  const std::vector<std::string>& derivative_of;
};
using TakeCompared = std::function<void(const Compared&)>;

// Whether all inputs lie as the target does, element by element.
bool lie_as_target(const std::vector<Elementwise>& terms, const trace::Record& target);
// The sum of such terms, in blocks of kBlockElements from front to back; at least one, which is
// empty where the record is.
void sum_by_blocks(const std::vector<Elementwise>& terms, const trace::TraceReader& reader,
                   const trace::Record& target, const std::vector<std::string>& derivative_of,
                   const TakeCompared& take);
// Bytes that this takes.
int64_t bytes_by_blocks(const std::vector<Elementwise>& terms);

}  // namespace nanhunt::oracle
