// SPDX-License-Identifier: Apache-2.0
#include "oracle/replay/attention_problem.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nanhunt::oracle::attention_op {

double angle(const Shape& s, double base, int64_t token, int64_t i) {
  return static_cast<double>(token) *
         std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(s.size));
}

void rotate(const Shape& s, double base, double sign, std::vector<double>& values) {
  if (base <= 0) return;
  const int64_t half = s.size / 2;
  for (int64_t t = 0; t < s.tokens; ++t) {
    for (int64_t i = 0; i < half; ++i) {
      const double by = angle(s, base, t, i);
      const double cosine = std::cos(by), sine = sign * std::sin(by);
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

std::vector<double> head_of(const Problem& p, const std::vector<double>& from, int64_t sample,
                            int64_t head, int part) {
  std::vector<double> values;
  for (int64_t t = 0; t < p.shape.tokens; ++t) {
    for (int64_t c = 0; c < p.shape.size; ++c)
      values.push_back(from[p.shape.in(t, sample, head, part, c)]);
  }
  return values;
}

std::vector<double> head_of_output(const Problem& p, const std::vector<double>& from,
                                   int64_t sample, int64_t head) {
  std::vector<double> values;
  for (int64_t t = 0; t < p.shape.tokens; ++t) {
    for (int64_t c = 0; c < p.shape.size; ++c)
      values.push_back(from[p.shape.out(t, sample, head, c)]);
  }
  return values;
}

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

}  // namespace nanhunt::oracle::attention_op
