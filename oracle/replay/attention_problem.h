// SPDX-License-Identifier: Apache-2.0
// What attention's replay (attention.cc, with the formulas) and its lineage (attention_lineage.cc)
// work on: the interleaved operand taken apart, head by head, and its softmax in FP64.
#pragma once

#include <optional>
#include <vector>

#include "oracle/replay/matrix.h"
#include "oracle/replay/replay.h"

namespace nanhunt::oracle::attention_op {

struct Shape {
  int64_t tokens, samples, heads, size;

  // Of element c of part 0 (q), 1 (k), 2 (v) in the interleaved tensor.
  size_t in(int64_t token, int64_t sample, int64_t head, int part, int64_t c) const {
    return static_cast<size_t>((((token * samples + sample) * heads + head) * 3 + part) * size + c);
  }
  size_t out(int64_t token, int64_t sample, int64_t head, int64_t c) const {
    return static_cast<size_t>(((token * samples + sample) * heads + head) * size + c);
  }
};

struct Problem {
  Shape shape;
  Tensor qkv;   // [token, sample, heads * 3 * size]
  Tensor mask;  // [sample, query, key], true = left out
  double scale, rotary_base;
  std::vector<double> magnitude;  // of qkv after turning: |x| + |partner|
};

// nullopt: the operands do not fit.
std::optional<Problem> problem_of(Call& call);

// By what pair (i, i + size / 2) of a head is turned at that token.
double angle(const Shape& s, double base, int64_t token, int64_t i);
// Turns q and k forward (sign 1), or a gradient back (sign -1); not at all for a base of 0.
void rotate(const Shape& s, double base, double sign, std::vector<double>& values);
// A turned element has errors of both of its pair.
std::vector<double> pair_magnitudes(const Shape& s, bool turned, const std::vector<double>& of);

// One head of one sample: [token, size] of part q, k or v of an interleaved tensor.
std::vector<double> head_of(const Problem& p, const std::vector<double>& from, int64_t sample,
                            int64_t head, int part);
// The same of a tensor like the output.
std::vector<double> head_of_output(const Problem& p, const std::vector<double>& from,
                                   int64_t sample, int64_t head);

struct Head {
  std::vector<double> q, k, v, v_size;
  std::vector<double> weights;    // p, [query, key]
  std::vector<double> condition;  // 1 + 2 max c of each query
};

Head solve(const Problem& p, int64_t sample, int64_t head);

Matrix matrix(const std::vector<double>& values, int64_t columns);

// attention_lineage.cc: as in Replay.
Intermediates on_the_way(Call& call, size_t element);
Intermediates on_the_way_back(Call& call, const Tensor& gradient, size_t element);

}  // namespace nanhunt::oracle::attention_op
