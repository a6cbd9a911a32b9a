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
#include <limits>
#include <numeric>

#include "oracle/replay/matrix.h"
#include "oracle/replay/ops.h"
#include "oracle/rules/rule_tools.h"

namespace nanhunt::oracle {
namespace {

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

// Turns q and k forward (sign 1), or a gradient back (sign -1).
void rotate(const Shape& s, double base, double sign, std::vector<double>& values) {
  if (base <= 0) return;
  const int64_t half = s.size / 2;
  for (int64_t t = 0; t < s.tokens; ++t) {
    for (int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(t) * std::pow(base, -2.0 * static_cast<double>(i) /
                                                                       static_cast<double>(s.size));
      const double cosine = std::cos(angle), sine = sign * std::sin(angle);
      for (int64_t b = 0; b < s.samples; ++b) {
        for (int64_t h = 0; h < s.heads; ++h) {
          for (int part = 0; part < 2; ++part) {
            double& x = values[s.in(t, b, h, part, i)];
            double& y = values[s.in(t, b, h, part, i + half)];
            const double turned = x * cosine - y * sine;
            y = y * cosine + x * sine;
            x = turned;
          }
        }
      }
    }
  }
}

// A turned element has errors of both of its pair.
std::vector<double> pair_magnitudes(const Shape& s, bool turned, const std::vector<double>& of) {
  std::vector<double> magnitudes(of.size());
  const int64_t half = s.size / 2;
  for (int64_t t = 0; t < s.tokens; ++t) {
    for (int64_t b = 0; b < s.samples; ++b) {
      for (int64_t h = 0; h < s.heads; ++h) {
        for (int part = 0; part < 3; ++part) {
          for (int64_t i = 0; i < s.size; ++i) {
            double& at = magnitudes[s.in(t, b, h, part, i)];
            at = std::abs(of[s.in(t, b, h, part, i)]);
            if (turned && part < 2)
              at += std::abs(of[s.in(t, b, h, part, i < half ? i + half : i - half)]);
          }
        }
      }
    }
  }
  return magnitudes;
}

std::optional<Problem> problem_of(Call& call) {
  static const std::vector<std::string> order{"token", "sample"};
  const Tensor* mask = call.of_role("mask");
  const auto size = call.attribute("head_size"), scale = call.attribute("scale");
  if (mask == nullptr || !size || !scale) return std::nullopt;
  const Tensor* input = call.activation();
  if (input == nullptr || input->shape.size() != 3 || mask->shape.size() != 3) return std::nullopt;
  Problem problem{
      {}, in_order_of(*input, order), *mask, *scale, call.attribute("rotary_base").value_or(0), {}};
  const auto& shape = problem.qkv.shape;
  const auto width = static_cast<int64_t>(*size);
  if (width <= 0 || shape[2] % (3 * width) != 0) return std::nullopt;
  problem.shape = {shape[0], shape[1], shape[2] / (3 * width), width};
  if (mask->shape != std::vector<int64_t>{shape[1], shape[0], shape[0]}) return std::nullopt;
  const bool turned = problem.rotary_base > 0;
  problem.magnitude = pair_magnitudes(problem.shape, turned, problem.qkv.values);
  rotate(problem.shape, problem.rotary_base, 1, problem.qkv.values);
  return problem;
}

// One head of one sample: [token, size] of q, k or v.
std::vector<double> head_of(const Problem& p, const std::vector<double>& from, int64_t sample,
                            int64_t head, int part) {
  std::vector<double> values;
  for (int64_t t = 0; t < p.shape.tokens; ++t) {
    for (int64_t c = 0; c < p.shape.size; ++c)
      values.push_back(from[p.shape.in(t, sample, head, part, c)]);
  }
  return values;
}

struct Head {
  std::vector<double> q, k, v, v_size;
  std::vector<double> weights;    // p, [query, key]
  std::vector<double> condition;  // 1 + 2 max c of each query
};

Matrix matrix(const std::vector<double>& values, int64_t columns) {
  return {values, static_cast<int64_t>(values.size()) / columns, columns};
}

Head solve(const Problem& p, int64_t sample, int64_t head) {
  Head h;
  h.q = head_of(p, p.qkv.values, sample, head, 0);
  h.k = head_of(p, p.qkv.values, sample, head, 1);
  h.v = head_of(p, p.qkv.values, sample, head, 2);
  h.v_size = head_of(p, p.magnitude, sample, head, 2);
  const auto tokens = static_cast<size_t>(p.shape.tokens);
  h.weights = product(matrix(h.q, p.shape.size), transposed(matrix(h.k, p.shape.size)));
  const auto q_size = row_norms(matrix(head_of(p, p.magnitude, sample, head, 0), p.shape.size));
  const auto k_size = row_norms(matrix(head_of(p, p.magnitude, sample, head, 1), p.shape.size));
  for (size_t i = 0; i < tokens; ++i) {
    double most = -std::numeric_limits<double>::infinity(), total = 0, largest_key = 0;
    double* row = &h.weights[i * tokens];
    const double* masked = &p.mask.values[(static_cast<size_t>(sample) * tokens + i) * tokens];
    for (size_t j = 0; j < tokens; ++j) {
      if (masked[j] != 0) continue;
      row[j] *= p.scale;
      if (!(row[j] <= most)) most = row[j];
      largest_key = std::max(largest_key, k_size[j]);
    }
    for (size_t j = 0; j < tokens; ++j) {
      row[j] = masked[j] != 0 ? 0 : std::exp(row[j] - most);
      total += row[j];
    }
    for (size_t j = 0; j < tokens; ++j) row[j] /= total;
    h.condition.push_back(1 + 2 * p.scale * q_size[i] * largest_key);
  }
  return h;
}

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
      std::vector<double> of_head;
      for (int64_t t = 0; t < s.tokens; ++t) {
        for (int64_t c = 0; c < s.size; ++c) of_head.push_back(g.values[s.out(t, b, h, c)]);
      }
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

// Where element `element` of the target lies in [token, sample, channel].
size_t index_in_problem(const Call& call, const Problem& p, size_t element) {
  Tensor order{{p.shape.tokens, p.shape.samples, p.shape.heads * p.shape.size}, p.qkv.axes, {}};
  order.values.resize(
      static_cast<size_t>(p.shape.tokens * p.shape.samples * p.shape.heads * p.shape.size));
  std::iota(order.values.begin(), order.values.end(), 0.0);
  return static_cast<size_t>(in_order_of(std::move(order), axes_of(call.target())).values[element]);
}

// The visible key of the largest score, and the exponential before the maximum is taken off.
Intermediates on_the_way(Call& call, size_t element) {
  const auto p = problem_of(call);
  if (!p) return {};
  const Shape& s = p->shape;
  const auto at = static_cast<int64_t>(index_in_problem(call, *p, element));
  const int64_t head = at / s.size % s.heads, sample = at / (s.size * s.heads) % s.samples,
                token = at / (s.size * s.heads * s.samples);
  const double* masked =
      &p->mask.values[static_cast<size_t>((sample * s.tokens + token) * s.tokens)];
  std::vector<Product> of_largest;
  double largest = 0, visible = 0;
  for (int64_t key = 0; key < s.tokens; ++key) {
    if (masked[key] != 0) continue;
    std::vector<Product> products;
    double score = 0;
    for (int64_t c = 0; c < s.size; ++c) {
      products.push_back({p->qkv.values[s.in(token, sample, head, 0, c)],
                          p->qkv.values[s.in(key, sample, head, 1, c)]});
      score += products.back().a * products.back().b;
    }
    if (visible++ == 0 || std::isnan(score) || score * p->scale > largest * p->scale) {
      of_largest = std::move(products);
      largest = score;
    }
  }
  Intermediates formed{{Formed::kVisible, "the number of visible keys", visible}};
  add_products(formed, of_largest);
  const double scaled = largest * p->scale;
  if (std::isfinite(scaled)) {
    formed.push_back({Formed::kExponential,
                      "exp(" + short_number(scaled) + "), unless the maximum is taken off,",
                      std::exp(scaled)});
  }
  return formed;
}

}  // namespace

Replay attention() {
  return {{"composed_attention", "fused_attention"}, forward, backward, on_the_way};
}

}  // namespace nanhunt::oracle
