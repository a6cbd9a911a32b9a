// SPDX-License-Identifier: Apache-2.0
// Programs that really make a NaN or an Inf forward, in the arithmetic of their type, one mechanism
// each; lineage must name the mechanism.
#include <algorithm>
#include <cmath>

#include "tests/oracle/planted.h"

namespace nanhunt::oracle::test {
namespace {

using trace::DType;
using trace::Phase;

Program linear(Values x, Values w) {
  const auto width = static_cast<int64_t>(w.size());
  return {{.site = "fc", .op = "linear"},
          {{std::move(x), {1, 1, width}},
           {std::move(w), {1, width}, {.site = "fc.weight", .role = "param"}}},
          [](const Arithmetic& in, const std::vector<Operand>& of) {
            return Values{in.dot(of[0].values, of[1].values)};
          },
          {1, 1, 1}};
}

Program pointwise(const std::string& op, Values x, double (*of)(double)) {
  const auto width = static_cast<int64_t>(x.size());
  return {{.site = "own", .op = op},
          {{std::move(x), {1, 1, width}}},
          [of](const Arithmetic& in, const std::vector<Operand>& given) {
            Values y;
            for (const float value : given[0].values) y.push_back(in(of(value)));
            return y;
          },
          {1, 1, width}};
}

Program of_two(const std::string& op, Values a, Values b, double (*of)(double, double)) {
  const auto width = static_cast<int64_t>(a.size());
  return {{.site = "own", .op = op},
          {{std::move(a), {1, 1, width}}, {std::move(b), {1, 1, width}, {.site = "other"}}},
          [of](const Arithmetic& in, const std::vector<Operand>& given) {
            Values y;
            for (size_t i = 0; i < given[0].values.size(); ++i)
              y.push_back(in(of(given[0].values[i], given[1].values[i])));
            return y;
          },
          {1, 1, width}};
}

double product(double a, double b) {
  return a * b;
}
double quotient(double a, double b) {
  return a / b;
}
double total(double a, double b) {
  return a + b;
}
double root(double x) {
  return std::sqrt(x);
}
double inverse_root(double x) {
  return 1 / std::sqrt(x);
}
double inverse(double x) {
  return 1 / x;
}
double exponential(double x) {
  return std::exp(x);
}
double logarithm(double x) {
  return std::log(x);
}
double same(double x) {
  return x;
}

// exp of the terms as they are, divided by their sum.
Values naive_softmax(const Arithmetic& in, const Values& x, bool shifted) {
  const double most = shifted ? *std::ranges::max_element(x) : 0;
  Values y;
  for (const float value : x) y.push_back(in(std::exp(double{in(value - most)})));
  const float all = in.sum(y);
  for (float& value : y) value = in(value / double{all});
  return y;
}

Program softmax(Values x, bool shifted) {
  const auto width = static_cast<int64_t>(x.size());
  return {{.site = "own", .op = "softmax"},
          {{std::move(x), {1, 1, width}}},
          [shifted](const Arithmetic& in, const std::vector<Operand>& of) {
            return naive_softmax(in, of[0].values, shifted);
          },
          {1, 1, width}};
}

Program norm(const std::string& op, double eps, Values row) {
  const auto width = static_cast<int64_t>(row.size());
  return {{.site = "norm", .op = op, .attributes = attribute("eps", eps)},
          {{std::move(row), {1, 1, width}}},
          [op, eps](const Arithmetic& in, const std::vector<Operand>& of) {
            Values x = of[0].values;
            const auto n = static_cast<double>(x.size());
            if (op == "layer_norm") {
              const float mean = in(in.sum(x) / n);
              for (float& value : x) value = in(value - mean);
            }
            const float mean_square = in(in.dot(x, x) / n);
            const float scale = in(1 / std::sqrt(double{in(mean_square + in(eps))}));
            for (float& value : x) value = in(value * scale);
            return x;
          },
          {1, 1, width}};
}

// Two tokens, one sample, one head of size 1: [q k v] by token.
Program attention(Values qkv, Values masked) {
  return {
      {.site = "core", .op = "composed_attention", .attributes = R"({"scale":1,"head_size":1})"},
      {{std::move(qkv), {1, 2, 3}},
       {std::move(masked), {1, 2, 2}, {.site = "core", .role = "mask", .storage = DType::kBool}}},
      [](const Arithmetic& in, const std::vector<Operand>& of) {
        const Values& x = of[0].values;
        Values y;
        for (size_t query = 0; query < 2; ++query) {
          Values weights;
          for (size_t key = 0; key < 2; ++key) {
            const double score = in(x[3 * query] * x[3 * key + 1]);
            weights.push_back(of[1].values[2 * query + key] != 0 ? 0 : in(std::exp(score)));
          }
          const float all = in.sum(weights);
          for (float& weight : weights) weight = in(weight / double{all});
          y.push_back(in.dot(weights, {x[2], x[5]}));
        }
        return y;
      },
      {1, 2, 1}};
}

Program quantise(double scale) {
  return {{.site = "cast", .op = "quantise", .attributes = attribute("scale", scale)},
          {{{1, 0}, {1, 1, 2}}},
          [scale](const Arithmetic& in, const std::vector<Operand>& of) {
            Values y;
            for (const float x : of[0].values) y.push_back(in(in(x * scale) / scale));
            return y;
          },
          {1, 1, 2}};
}

Program masked_mean(double denominator, Values losses, Values mask) {
  const auto count = static_cast<int64_t>(losses.size());
  return {{.site = "loss",
           .phase = Phase::kLoss,
           .role = "loss",
           .op = "masked_mean",
           .attributes = attribute("denominator", denominator)},
          {{std::move(losses), {1, count}, {.site = "loss", .role = "token_loss"}},
           {std::move(mask), {1, count}, {.site = "loss", .role = "loss_mask"}}},
          [denominator](const Arithmetic& in, const std::vector<Operand>& of) {
            return Values{in(in.dot(of[0].values, of[1].values) / denominator)};
          },
          {1}};
}

Program loss_role(const std::string& role, std::vector<Operand> operands,
                  Values (*run)(const Arithmetic&, const std::vector<Operand>&)) {
  return {{.site = "loss", .phase = Phase::kLoss, .role = role, .op = "cross_entropy"},
          std::move(operands),
          run,
          {1, 1}};
}

Program sum_exp(Values logits, float most) {
  const auto width = static_cast<int64_t>(logits.size());
  return loss_role(
      "sum_exp",
      {{std::move(logits), {1, 1, width}, {.site = "output_layer"}},
       {{most}, {1, 1}, {.site = "loss", .phase = Phase::kLoss, .role = "logits_max"}}},
      [](const Arithmetic& in, const std::vector<Operand>& of) {
        Values terms;
        for (const float x : of[0].values) terms.push_back(in(std::exp(double{x})));
        return Values{in.sum(terms)};
      });
}

Program token_loss(float sums) {
  return loss_role("token_loss",
                   {{{sums}, {1, 1}, {.site = "loss", .phase = Phase::kLoss, .role = "sum_exp"}},
                    {{1}, {1, 1}, {.site = "loss", .phase = Phase::kLoss, .role = "target_logit"}}},
                   [](const Arithmetic& in, const std::vector<Operand>& of) {
                     return Values{in(in(std::log(double{of[0].values[0]})) - of[1].values[0])};
                   });
}

// Dropped by a product, where the op chooses.
Program dropout_by_product(Values x) {
  const auto width = static_cast<int64_t>(x.size());
  Values mask(x.size(), 1);
  mask.front() = 0;
  return {
      {.site = "drop", .op = "dropout", .attributes = R"({"p":0.5})"},
      {{std::move(x), {1, 1, width}},
       {std::move(mask), {1, 1, width}, {.site = "drop", .role = "mask", .storage = DType::kBool}}},
      [](const Arithmetic& in, const std::vector<Operand>& of) {
        Values y;
        for (size_t i = 0; i < of[0].values.size(); ++i)
          y.push_back(in(of[0].values[i] * double{of[1].values[i]} * 2));
        return y;
      },
      {1, 1, width}};
}

std::vector<Plant> in_type(DType type) {
  const auto [root_of_max, most, exponent] = extremes_of(type);
  return {
      {"linear_result", type, "overflow", linear({root_of_max}, {root_of_max}), {{1}, {1}}},
      {"linear_sum_result", type, "overflow", linear({most, most}, {1, 1}), {{1, 1}, {1, 1}}},
      {"linear_term",
       type,
       "overflow_in_product",
       linear({root_of_max, -root_of_max}, {root_of_max, root_of_max}),
       {{1, -1}, {2, 2}}},
      {"linear_prefix",
       type,
       "overflow_in_accumulation",
       linear({most, most, -most}, {1, 1, 1}),
       {{1, 1, -1}, {1, 1, 1}}},
      {"linear_inf_minus_inf", type, "inf_minus_inf", linear({kInf, kInf}, {1, -1}), {}},
      {"linear_zero_times_inf", type, "zero_times_inf", linear({kInf, 1}, {0, 1}), {}},
      {"add_result",
       type,
       "overflow",
       of_two("add", {most, 1}, {most, 1}, total),
       {{1, 1}, {1, 1}}},
      {"add_inf_minus_inf", type, "inf_minus_inf", of_two("add", {kInf}, {-kInf}, total), {}},
      {"mul_result",
       type,
       "overflow",
       of_two("mul", {root_of_max}, {root_of_max}, product),
       {{1}, {1}}},
      {"mask_by_product", type, "zero_times_inf", of_two("mul", {0, 1}, {-kInf, 1}, product), {}},
      {"div_by_zero",
       type,
       "division_by_zero",
       of_two("div", {1, 1}, {0, 1}, quotient),
       {{1, 1}, {2, 1}}},
      {"zero_by_zero",
       type,
       "division_by_zero",
       of_two("div", {0, 1}, {0, 1}, quotient),
       {{0, 1}, {2, 1}}},
      {"inf_by_inf", type, "inf_over_inf", of_two("div", {kInf}, {kInf}, quotient), {}},
      {"exp", type, "exp_overflow", pointwise("exp", {exponent, 1}, exponential), {{2, 1}}},
      {"log_zero", type, "log_of_zero", pointwise("log", {0, 1}, logarithm), {{2, 1}}},
      {"log_negative", type, "outside_domain", pointwise("log", {-1, 1}, logarithm), {{2, 1}}},
      {"sqrt_negative", type, "outside_domain", pointwise("sqrt", {-1, 1}, root), {{2, 1}}},
      {"rsqrt_zero", type, "rsqrt_of_zero", pointwise("rsqrt", {0, 1}, inverse_root), {{2, 1}}},
      {"rsqrt_negative",
       type,
       "outside_domain",
       pointwise("rsqrt", {-2, 1}, inverse_root),
       {{2, 1}}},
      {"reciprocal_zero",
       type,
       "division_by_zero",
       pointwise("reciprocal", {0, 1}, inverse),
       {{2, 1}}},
      {"softmax_unshifted", type, "exp_overflow", softmax({exponent, 1}, false), {{1, 2}}},
      {"softmax_all_hidden", type, "all_masked", softmax({-kInf, -kInf}, true), {{1, 2}}},
      {"softmax_of_inf", type, "inf_minus_inf", softmax({kInf, 1}, true), {{1, 2}}},
      {"attention_unshifted",
       type,
       "exp_overflow",
       attention({exponent, 1, 1, 1, 1, 1}, {0, 0, 0, 0}),
       {{1, 1, 1, 1, 1, 1}, {0, 0, 0, 0}}},
      {"attention_all_masked",
       type,
       "all_masked",
       attention({1, 1, 1, 1, 1, 1}, {1, 1, 0, 0}),
       {{1, 1, 1, 1, 1, 1}, {0, 1, 0, 0}}},
      {"rms_norm_of_zero", type, "rsqrt_of_zero", norm("rms_norm", 0, {0, 0}), {{1, 2}}},
      {"layer_norm_of_constant", type, "rsqrt_of_zero", norm("layer_norm", 0, {2, 2}), {{1, 2}}},
      {"layer_norm_mean",
       type,
       "overflow_in_accumulation",
       norm("layer_norm", 0.01, {most, most}),
       {{1, 2}}},
      {"scale_zero", type, "scale_not_positive", quantise(0), {}},
      {"scale_negative_zero", type, "scale_not_positive", quantise(-0.0), {}},
      {"no_token_counts", type, "division_by_zero", masked_mean(0, {1, 2}, {0, 0}), {}},
      {"masked_nan_by_product", type, "zero_times_inf", masked_mean(1, {1, kInf}, {1, 0}), {}},
      {"sum_exp_unshifted", type, "exp_overflow", sum_exp({exponent, 1}, exponent), {{1, 1}, {1}}},
      {"log_of_no_exponential", type, "log_of_zero", token_loss(0), {{2}, {1}}},
      {"dropped_by_product", type, "zero_times_inf", dropout_by_product({kInf, 1}), {{1, 1}}},
      {"nan_of_operand", type, "handed_on", pointwise("relu", {kNan, 1}, same), {}},
      {"nan_in_product", type, "handed_on", linear({kNan, 1}, {1, 1}), {}},
      {"nan_in_sum", type, "handed_on", of_two("add", {kNan, 1}, {1, 1}, total), {}},
      {"nan_in_quotient", type, "handed_on", of_two("div", {kNan, 1}, {1, 1}, quotient), {}},
      {"nan_in_softmax", type, "handed_on", softmax({kNan, 1}, true), {}},
      {"inf_of_operand", type, "handed_on", linear({kInf, 1}, {1, 1}), {}},
      {"behind_linear", type, "not_from_operands", broken(linear({1, 2}, {3, 4})), {}},
      {"behind_norm", type, "not_from_operands", broken(norm("rms_norm", 0.01, {1, 2})), {}},
      {"behind_softmax", type, "not_from_operands", broken(softmax({1, 2}, true)), {}},
      {"behind_attention",
       type,
       "not_from_operands",
       broken(attention({1, 1, 1, 1, 1, 1}, {0, 1, 0, 0})),
       {}},
      {"behind_tanh", type, "not_from_operands", broken(pointwise("tanh", {1, 2}, same)), {}},
  };
}

std::vector<Plant> all() {
  std::vector<Plant> plants = in_both_types(in_type);
  // What only FP16 is too narrow for.
  const DType half = DType::kFloat16;
  plants.push_back(
      {"eps_of_rms_norm", half, "eps_rounded_to_zero", norm("rms_norm", 1e-8, {0, 0}), {{1, 2}}});
  plants.push_back({"eps_of_layer_norm",
                    half,
                    "eps_rounded_to_zero",
                    norm("layer_norm", 1e-8, {3, 3}),
                    {{1, 2}}});
  plants.push_back(
      {"saturated", half, "saturated_then_used", linear({65504, 1}, {2, 1}), {{1, 1}, {2, 1}}});
  plants.push_back({"reciprocal_of_subnormal",
                    half,
                    "overflow",
                    pointwise("reciprocal", {6e-8f, 1}, inverse),
                    {{2, 1}}});
  plants.push_back(
      {"loss_sum", half, "overflow", masked_mean(1, {60000, 60000}, {1, 1}), {{1, 1}, {1, 1}}});
  return plants;
}

INSTANTIATE_TEST_SUITE_P(Forward, PlantedLineage, testing::ValuesIn(all()), name_of_plant);

}  // namespace
}  // namespace nanhunt::oracle::test
