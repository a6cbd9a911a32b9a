// SPDX-License-Identifier: Apache-2.0
// Gradients behind attention: of queries, keys and values, one sample, one head or two, interleaved
// [q k v] by token.
#include <algorithm>
#include <cmath>

#include "tests/oracle/planted.h"

namespace nanhunt::oracle::test {
namespace {

using trace::DType;
using trace::Phase;

struct Core {
  size_t size;        // of the head
  double rotary = 0;  // base; 0: nothing is turned
  double scale = 1;
};

// A kernel that keeps p, g v^T, its difference to the row's mean and ds in the type.
class Kernel {
 public:
  Kernel(const Arithmetic& in, const Core& core, Values qkv, const Values& masked,
         const Values& gradient)
      : in_(in), core_(core), x_(std::move(qkv)), g_(gradient), tokens_(g_.size() / core.size) {
    turn(x_, 1);
    for (size_t query = 0; query < tokens_; ++query) weights(query, masked);
    for (size_t query = 0; query < tokens_; ++query) gradients_of_scores(query);
  }

  Values gradient() const {
    Values d(x_.size());
    for (size_t t = 0; t < tokens_; ++t) {
      for (size_t c = 0; c < core_.size; ++c) {
        Values row, column, into, k, q, g;
        for (size_t other = 0; other < tokens_; ++other) {
          row.push_back(ds_[t * tokens_ + other]);
          column.push_back(ds_[other * tokens_ + t]);
          into.push_back(p_[other * tokens_ + t]);
          q.push_back(x_[at(other, 0, c)]);
          k.push_back(x_[at(other, 1, c)]);
          g.push_back(g_[other * core_.size + c]);
        }
        d[at(t, 0, c)] = in_.dot(row, k);
        d[at(t, 1, c)] = in_.dot(column, q);
        d[at(t, 2, c)] = in_.dot(into, g);
      }
    }
    turn(d, -1);
    return d;
  }

 private:
  size_t at(size_t token, size_t part, size_t c) const {
    return (token * 3 + part) * core_.size + c;
  }
  Values part(size_t token, size_t which) const {
    const auto start = x_.begin() + static_cast<std::ptrdiff_t>(at(token, which, 0));
    return {start, start + static_cast<std::ptrdiff_t>(core_.size)};
  }

  void turn(Values& values, double sign) const {
    if (core_.rotary == 0) return;
    const size_t half = core_.size / 2;
    for (size_t i = 0; i < tokens_ * 2 * half; ++i) {
      const size_t token = i / (2 * half), which = i / half % 2, c = i % half;
      const double by =
          static_cast<double>(token) *
          std::pow(core_.rotary, -2.0 * static_cast<double>(c) / static_cast<double>(core_.size));
      float &a = values[at(token, which, c)], &b = values[at(token, which, c + half)];
      const double x = a, y = b, sine = sign * std::sin(by);
      a = in_(in_(x * std::cos(by)) - double{in_(y * sine)});
      b = in_(in_(y * std::cos(by)) + double{in_(x * sine)});
    }
  }

  void weights(size_t query, const Values& masked) {
    Values scores, row;
    float most = -kInf;
    for (size_t key = 0; key < tokens_; ++key) {
      const bool hidden = masked[query * tokens_ + key] != 0;
      const float score = in_(core_.scale * in_.dot(part(query, 0), part(key, 1)));
      scores.push_back(hidden ? -kInf : score);
      most = std::max(most, scores.back());
    }
    for (const float score : scores) row.push_back(in_(std::exp(double{in_(score - most)})));
    const float all = in_.sum(row);
    for (const float weight : row) p_.push_back(in_(weight / double{all}));
  }

  void gradients_of_scores(size_t query) {
    const Values g(g_.begin() + static_cast<std::ptrdiff_t>(query * core_.size),
                   g_.begin() + static_cast<std::ptrdiff_t>((query + 1) * core_.size));
    const Values p(p_.begin() + static_cast<std::ptrdiff_t>(query * tokens_),
                   p_.begin() + static_cast<std::ptrdiff_t>((query + 1) * tokens_));
    Values direct;
    for (size_t key = 0; key < tokens_; ++key) direct.push_back(in_.dot(g, part(key, 2)));
    const float mean = in_.dot(p, direct);
    for (size_t key = 0; key < tokens_; ++key)
      ds_.push_back(in_(core_.scale * in_(p[key] * double{in_(direct[key] - mean)})));
  }

  const Arithmetic& in_;
  Core core_;
  Values x_, g_;
  size_t tokens_;
  Values p_, ds_;
};

Program attention_back(const Core& core, const Values& qkv, const Values& masked,
                       const Values& gradient) {
  const auto size = static_cast<int64_t>(core.size);
  const int64_t tokens = static_cast<int64_t>(gradient.size()) / size;
  std::string attributes =
      R"({"scale":)" + std::to_string(core.scale) + R"(,"head_size":)" + std::to_string(core.size);
  if (core.rotary > 0) attributes += R"(,"rotary_base":)" + std::to_string(core.rotary);
  return {
      {.site = "core", .phase = Phase::kBackward, .role = "grad_input"},
      {{qkv, {1, tokens, 3 * size}},
       {gradient,
        {1, tokens, size},
        {.site = "core", .phase = Phase::kBackward, .role = "grad_output"}},
       {masked, {1, tokens, tokens}, {.site = "core", .role = "mask", .storage = DType::kBool}}},
      [core](const Arithmetic& in, const std::vector<Operand>& of) {
        return Kernel(in, core, of[0].values, of[2].values, of[1].values).gradient();
      },
      {1, tokens, 3 * size},
      {{Values(gradient.size()),
        {1, tokens, size},
        {.site = "core", .op = "composed_attention", .attributes = attributes + "}"}}}};
}

// Row by row, `width` of a and then of b.
Values beside(const Values& a, const Values& b, size_t width) {
  Values both;
  for (size_t i = 0; i < a.size(); i += width) {
    for (const Values* one : {&a, &b})
      both.insert(both.end(), one->begin() + static_cast<std::ptrdiff_t>(i),
                  one->begin() + static_cast<std::ptrdiff_t>(i + width));
  }
  return both;
}

Values head_of(const Values& both, size_t head, size_t width) {
  Values one;
  for (size_t i = 0; i < both.size(); ++i) {
    if (i / width % 2 == head) one.push_back(both[i]);
  }
  return one;
}

// Two heads of size 1 under one mask.
Program two_heads(const Values& qkv, const Values& masked, const Values& gradient) {
  Program program = attention_back({1}, head_of(qkv, 0, 3), masked, head_of(gradient, 0, 1));
  program.operands[0].values = qkv;
  program.operands[1].values = gradient;
  program.others[0].values = Values(gradient.size());
  for (auto* shape : {&program.operands[0].shape, &program.operands[1].shape, &program.shape,
                      &program.others[0].shape})
    shape->back() *= 2;
  program.run = [](const Arithmetic& in, const std::vector<Operand>& of) {
    const auto of_head = [&](size_t head) {
      return Kernel(in, {1}, head_of(of[0].values, head, 3), of[2].values,
                    head_of(of[1].values, head, 1))
          .gradient();
    };
    return beside(of_head(0), of_head(1), 3);
  };
  return program;
}

std::vector<Plant> in_type(DType type) {
  const float root = extremes_of(type).root_of_max, most = extremes_of(type).most;
  const Values all{0, 0, 0, 0}, causal{0, 1, 0, 0}, first_hidden{1, 1, 0, 0};
  const Values mild{1, 1, 1, 1, 2, 3}, mild_g{1, 2};
  // Token 1 is turned by 1 rad: its key and that of token 0 are one after it.
  const float turned_x = root * std::cos(1.0f), turned_y = -root * std::sin(1.0f);
  return {
      // Both keys get the same: their difference is 0, were it not for the type.
      {"product_with_values",
       type,
       "overflow_in_product",
       attention_back({1}, {1, 1, root, 1, 1, root}, all, {root, 1}),
       {mild, mild_g}},
      {"sum_with_values",
       type,
       "overflow_in_accumulation",
       attention_back({3},
                      {0, 0, 0, 1, 1, 1, most, most, -most, 0, 0, 0, 1, 1, 1, most, most, -most},
                      all, {1, 1, 1, 0, 0, 0}),
       {{0, 0, 0, 1, 1, 1, 1, 1, -1, 0, 0, 0, 1, 1, 1, 1, 1, -1}}},
      // A weight near 0 times what is beyond the type.
      {"difference_to_mean",
       type,
       "overflow_in_accumulation",
       attention_back({1}, {1, 0, 1, 0, -12, -1}, all, {most, 0}),
       {mild, mild_g}},
      {"hidden_key",
       type,
       "overflow_in_product",
       attention_back({1}, {1, 1, 1, 1, 1, root}, causal, {root, 1}),
       {mild, mild_g}},
      {"hidden_infinite_value",
       type,
       "zero_times_inf",
       attention_back({1}, {1, 1, 1, 1, 1, kInf}, causal, {1, 1}),
       {mild, mild_g}},
      {"row_without_keys",
       type,
       "all_masked",
       attention_back({1}, mild, first_hidden, mild_g),
       {mild, mild_g, causal}},
      {"product_with_keys",
       type,
       "overflow_in_product",
       attention_back({1}, {0, root, 1, 0, root, -1}, all, {2 * root, 0}),
       {mild, mild_g}},
      {"product_with_queries",
       type,
       "overflow_in_product",
       attention_back({1}, {root, 0, 1, -root, 0, -1}, all, {2 * root, 2 * root}),
       {mild, mild_g}},
      {"scale",
       type,
       "overflow_in_product",
       attention_back({1, 0, 4 * root}, {0, 1, 1, 0, 1, -1}, all, {root, 0}),
       {{0, 1, 1, 0, 1, -1}, {1e-3f, 0}}},
      {"weights_over_queries",
       type,
       "overflow_in_accumulation",
       attention_back({1}, {0, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 1, 1, 0, 1, 1, 0, 1, 1},
                      {most, most, -most}),
       {{0, 0, 0, 0, 0, 0, 0, 0, 0}, {1, 1, -1}}},
      {"turned_keys",
       type,
       "overflow_in_product",
       attention_back({2, 100}, {0, 0, root, 0, 1, 0, 0, 0, turned_x, turned_y, -1, 0}, all,
                      {0, 0, 2 * root, 0}),
       {{0, 0, 1, 0, 1, 0, 0, 0, 1, 1, -1, 0}, {0, 0, 1, 0}}},
      {"second_head",
       type,
       "overflow_in_product",
       two_heads(beside(mild, {1, 1, root, 1, 1, root}, 3), all, beside(mild_g, {root, 1}, 1)),
       {beside(mild, mild, 3), beside(mild_g, mild_g, 1)}},
      {"other_head",
       type,
       "not_from_operands",
       broken(
           two_heads(beside(mild, {1, 1, root, 1, 1, root}, 3), all, beside(mild_g, {root, 1}, 1)),
           {beside(mild, mild, 3)}),
       {}},
      {"nan_gradient", type, "handed_on", attention_back({1}, mild, causal, {kNan, 1}), {}},
      // What only the row of token 1 forms is not on the way to token 0's query.
      {"other_query",
       type,
       "not_from_operands",
       broken(attention_back({1}, {1, 1, root, 1, 1, root}, all, {1, root}), {mild, mild_g}),
       {}},
      {"other_query_without_keys",
       type,
       "not_from_operands",
       broken(attention_back({1}, mild, {0, 0, 1, 1}, mild_g), {mild, mild_g, causal}),
       {}},
  };
}

INSTANTIATE_TEST_SUITE_P(Attention, PlantedLineage, testing::ValuesIn(in_both_types(in_type)),
                         name_of_plant);

}  // namespace
}  // namespace nanhunt::oracle::test
