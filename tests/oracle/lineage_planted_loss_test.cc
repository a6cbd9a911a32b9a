// SPDX-License-Identifier: Apache-2.0
// Where backward begins: the gradient of the logits, through the mean over the tokens and the loss
// of each, from the maximum and the sum of exponentials that forward kept.
#include <cmath>

#include "tests/oracle/planted.h"

namespace nanhunt::oracle::test {
namespace {

using trace::DType;
using trace::Phase;

// What forward left, of `count` tokens with two logits each; labels are 1.
struct Loss {
  Values logits, most, sums;
  Values mask = {1};
  double denominator = 1;
};

// Operands in the order of Loss; dlogit = g (exp(x - max) / sum - [label]), g = mask / denominator.
Program logits_back(const Loss& loss) {
  const auto count = static_cast<int64_t>(loss.most.size());
  const auto of_loss = [](const std::string& role) {
    return Tap{.site = "loss", .phase = Phase::kLoss, .role = role};
  };
  Tap mean = of_loss("loss"), tokens = of_loss("token_loss");
  mean.op = "masked_mean";
  mean.attributes = attribute("denominator", loss.denominator);
  tokens.op = "cross_entropy";
  const double denominator = loss.denominator;
  return {{.site = "head", .phase = Phase::kBackward, .role = "grad_output"},
          {{loss.logits, {1, count, 2}, {.site = "head"}},
           {loss.most, {1, count}, of_loss("logits_max")},
           {loss.sums, {1, count}, of_loss("sum_exp")},
           {loss.mask, {1, count}, {.site = "data", .role = "loss_mask"}},
           {Values(loss.most.size(), 1),
            {1, count},
            {.site = "data", .role = "labels", .storage = DType::kInt64}},
           {{1}, {1}, mean}},
          [denominator](const Arithmetic& in, const std::vector<Operand>& of) {
            Values gradient;
            for (size_t i = 0; i < of[0].values.size(); ++i) {
              const double power =
                  in(std::exp(double{in(of[0].values[i] - double{of[1].values[i / 2]})}));
              const double p = in(power / in(of[2].values[i / 2]));
              const double g = in(of[3].values[i / 2] / in(denominator));
              gradient.push_back(in(g * in(p - static_cast<double>(i % 2))));
            }
            return gradient;
          },
          {1, count, 2},
          {{Values(loss.most.size(), 1), {1, count}, tokens}}};
}

std::vector<Plant> in_type(DType type) {
  const float most = extremes_of(type).most, exponent = extremes_of(type).exponent;
  return {
      // A maximum that is not the maximum. The twin's difference is beyond the type, and harmless.
      {"exponential",
       type,
       "exp_overflow",
       logits_back({{exponent + 1, 1}, {1}, {3}}),
       {{-most, most}, {most}, {1}}},
      {"sum_of_zero",
       type,
       "division_by_zero",
       logits_back({{1, 1}, {1}, {0}}),
       {{1, 1}, {1}, {2}}},
      {"infinite_logit", type, "inf_minus_inf", logits_back({{kInf, 1}, {kInf}, {1}}), {}},
      {"infinite_exponential",
       type,
       "inf_over_inf",
       logits_back({{kInf, 1}, {1}, {kInf}}),
       {{2, 1}, {2}, {1}}},
      {"nan_logit", type, "handed_on", logits_back({{kNan, 1}, {1}, {1}}), {}},
      {"no_token_counts",
       type,
       "division_by_zero",
       logits_back({{1, 1, 1, 1}, {1, 1}, {2, 2}, {1, 0}, 0}),
       {}},
      // Of the second token; the first is whole.
      {"second_token",
       type,
       "exp_overflow",
       logits_back({{1, 1, exponent + 1, 1}, {1, 1}, {2, 3}, {1, 1}, 2}),
       {{1, 1, 1, 1}}},
      {"other_token",
       type,
       "not_from_operands",
       broken(logits_back({{1, 1, exponent + 1, 1}, {1, 1}, {2, 3}, {1, 1}, 2}), {{1, 1, 1, 1}}),
       {}},
      {"infinite_mask",
       type,
       "zero_times_inf",
       logits_back({{-kInf, 1}, {1}, {1}, {kInf}}),
       {{1, 1}, {1}, {2}, {1}}},
      {"behind", type, "not_from_operands", broken(logits_back({{1, 2}, {2}, {2}})), {}},
  };
}

std::vector<Plant> all() {
  std::vector<Plant> plants = in_both_types(in_type);
  // A sum that FP16 rounds to 0, recorded in a wider type.
  Plant rounded{"sum_rounded_to_zero",
                DType::kFloat16,
                "division_by_zero",
                logits_back({{-10, -11}, {0}, {1e-8f}}),
                {{-1, -1}, {0}, {1}}};
  rounded.program.operands[2].tap.storage = DType::kBFloat16;
  plants.push_back(std::move(rounded));
  return plants;
}

INSTANTIATE_TEST_SUITE_P(Loss, PlantedLineage, testing::ValuesIn(all()), name_of_plant);

}  // namespace
}  // namespace nanhunt::oracle::test
