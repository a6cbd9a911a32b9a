// SPDX-License-Identifier: Apache-2.0
// Core attention over a rank's heads, q, k and v interleaved head by head in one operand
// ([token, sample, heads x 3 x head_size], as Megatron's linear_qkv):
//   p = softmax(scale q k^T, masked keys left out),  y = p v
//   dv = p^T g,  ds = p (g v^T - rowsum(p g v^T)),  dq = scale ds k,  dk = scale ds^T q
// with q and k turned first where the record names a `rotary_base` (Su et al., RoFormer, 2021;
// pairs (i, i + head_size / 2)). A row whose keys are all masked is NaN here: nobody can say what
// it should be.
//
// Bound: a score has relative error of K roundings against scale |q||k| =: c, and exp and the
// softmax's division turn it into 2 c of p; so each term of y counts (1 + 2 max c) times.
#include <cmath>

#include "oracle/replay/attention_problem.h"
#include "oracle/replay/ops.h"

namespace nanhunt::oracle {
namespace attention_op {
namespace {

double roundings(const Problem& p) {
  return static_cast<double>(p.shape.size + p.shape.tokens) + 24;
}

// From [token, sample, channel] to the dimensions of the recorded tensor.
Recomputed in_order_of_target(const Call& call, const Problem& p, int64_t channels,
                              Recomputed result) {
  const std::vector<int64_t> shape{p.shape.tokens, p.shape.samples, channels};
  const auto axes = axes_of(call.target());
  for (auto* values : {&result.values, &result.magnitudes})
    *values = in_order_of({shape, p.qkv.axes, std::move(*values)}, axes).values;
  return result;
}

std::optional<Recomputed> forward(Call& call) {
  const auto p = problem_of(call);
  if (!p) return std::nullopt;
  const Shape& s = p->shape;
  const auto count = static_cast<size_t>(s.tokens * s.samples * s.heads * s.size);
  Recomputed result{std::vector<double>(count), std::vector<double>(count), roundings(*p)};
  for (int64_t b = 0; b < s.samples; ++b) {
    for (int64_t h = 0; h < s.heads; ++h) {
      const Head head = solve(*p, b, h);
      const auto y = product(matrix(head.weights, s.tokens), matrix(head.v, s.size));
      const auto terms = product(matrix(head.weights, s.tokens), matrix(head.v_size, s.size));
      for (int64_t t = 0; t < s.tokens; ++t) {
        for (int64_t c = 0; c < s.size; ++c) {
          const auto at = static_cast<size_t>(t * s.size + c);
          result.values[s.out(t, b, h, c)] = y[at];
          result.magnitudes[s.out(t, b, h, c)] = terms[at] * head.condition[static_cast<size_t>(t)];
        }
      }
    }
  }
  return in_order_of_target(call, *p, s.heads * s.size, std::move(result));
}

struct Gradients {
  std::vector<double> q, k, v;
};

Gradients gradients_of(const Problem& p, const Head& h, const std::vector<double>& g) {
  const auto tokens = static_cast<size_t>(p.shape.tokens);
  Gradients d;
  d.v = product(transposed(matrix(h.weights, p.shape.tokens)), matrix(g, p.shape.size));
  auto ds = product(matrix(g, p.shape.size), transposed(matrix(h.v, p.shape.size)));
  for (size_t i = 0; i < tokens; ++i) {
    double mean = 0;
    for (size_t j = 0; j < tokens; ++j) mean += h.weights[i * tokens + j] * ds[i * tokens + j];
    for (size_t j = 0; j < tokens; ++j)
      ds[i * tokens + j] = p.scale * h.weights[i * tokens + j] * (ds[i * tokens + j] - mean);
  }
  d.q = product(matrix(ds, p.shape.tokens), matrix(h.k, p.shape.size));
  d.k = product(transposed(matrix(ds, p.shape.tokens)), matrix(h.q, p.shape.size));
  return d;
}

// The same with sizes for values: every difference a sum, every weight times its condition.
Gradients magnitudes_of(const Problem& p, const Head& h, std::vector<double> g,
                        const std::vector<double>& q, const std::vector<double>& k) {
  const auto tokens = static_cast<size_t>(p.shape.tokens);
  for (double& value : g) value = std::abs(value);
  std::vector<double> weights = h.weights;
  for (size_t i = 0; i < weights.size(); ++i) weights[i] *= h.condition[i / tokens];
  Gradients d;
  d.v = product(transposed(matrix(weights, p.shape.tokens)), matrix(g, p.shape.size));
  auto ds = product(matrix(g, p.shape.size), transposed(matrix(h.v_size, p.shape.size)));
  for (size_t i = 0; i < tokens; ++i) {
    double mean = 0;
    for (size_t j = 0; j < tokens; ++j) mean += weights[i * tokens + j] * ds[i * tokens + j];
    for (size_t j = 0; j < tokens; ++j)
      ds[i * tokens + j] = p.scale * weights[i * tokens + j] * (ds[i * tokens + j] + mean);
  }
  d.q = product(matrix(ds, p.shape.tokens), matrix(k, p.shape.size));
  d.k = product(transposed(matrix(ds, p.shape.tokens)), matrix(q, p.shape.size));
  return d;
}

void place(const Shape& s, int64_t sample, int64_t head, const Gradients& d,
           std::vector<double>& values) {
  for (int64_t t = 0; t < s.tokens; ++t) {
    for (int64_t c = 0; c < s.size; ++c) {
      const auto at = static_cast<size_t>(t * s.size + c);
      values[s.in(t, sample, head, 0, c)] = d.q[at];
      values[s.in(t, sample, head, 1, c)] = d.k[at];
      values[s.in(t, sample, head, 2, c)] = d.v[at];
    }
  }
}

std::optional<Recomputed> backward(Call& call, const Tensor& gradient) {
  const auto p = problem_of(call);
  if (!p) return std::nullopt;
  const Shape& s = p->shape;
  const Tensor g = in_order_of(gradient, p->qkv.axes);
  if (g.size() * 3 != p->qkv.size()) return std::nullopt;
  const size_t count = p->qkv.values.size();
  Recomputed result{std::vector<double>(count), std::vector<double>(count), 2 * roundings(*p)};
  for (int64_t b = 0; b < s.samples; ++b) {
    for (int64_t h = 0; h < s.heads; ++h) {
      const Head head = solve(*p, b, h);
      const auto of_head = head_of_output(*p, g.values, b, h);
      place(s, b, h, gradients_of(*p, head, of_head), result.values);
      place(s, b, h,
            magnitudes_of(*p, head, of_head, head_of(*p, p->magnitude, b, h, 0),
                          head_of(*p, p->magnitude, b, h, 1)),
            result.magnitudes);
    }
  }
  rotate(s, p->rotary_base, -1, result.values);
  result.magnitudes = pair_magnitudes(s, p->rotary_base > 0, result.magnitudes);
  return in_order_of_target(call, *p, s.heads * 3 * s.size, std::move(result));
}

}  // namespace
}  // namespace attention_op

Replay attention() {
  return {{"composed_attention", "fused_attention"},
          attention_op::forward,
          attention_op::backward,
          attention_op::on_the_way,
          attention_op::on_the_way_back};
}

}  // namespace nanhunt::oracle
