// SPDX-License-Identifier: Apache-2.0
// stale, and what only looks like it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>

#include "tests/compare/signature_verdicts.h"

namespace nanhunt::compare::test {
namespace {

using testing::HasSubstr;
using trace::Phase;

// In step 1 `norm` is `factor` times what it was in step 0.
Verdict of_step_before(double factor, bool values) {
  const auto before = std::make_shared<std::map<int, Values>>();
  SmallModel model{.tp = 2, .steps = 2, .noise = kHealthy};
  model.edit = [=](const Tap& tap, Values& held) {
    if (!at(tap, "norm")) return;
    if (tap.step == 0) (*before)[tap.rank] = held;
    if (tap.step == 1) held = times(before->at(tap.rank), factor);
  };
  return verdict_of(build(model), build({.steps = 2}), values);
}

TEST(Signatures, StaleOfTheStepBefore) {
  for (const bool values : {false, true}) {
    const Verdict verdict = of_step_before(1, values);
    ASSERT_EQ(signature_of(verdict), "stale") << to_text(verdict);
    EXPECT_THAT(verdict.origins.front().signature_detail, HasSubstr("step 0 on ranks 0 1"));
  }
}

TEST(Signatures, StaleRefusesOtherBits) {
  EXPECT_NE(signature_of(of_step_before(1.0001, false)), "stale");
}

// `fc` reads `x`, one sample a microbatch. The edit may change the outputs of both.
TraceBuilder microbatches(bool equal_inputs, const std::function<void(Values&, Values&)>& edit) {
  TraceBuilder builder;
  Values outputs[] = {normal_values(64, 1), normal_values(64, equal_inputs ? 1 : 2)};
  edit(outputs[0], outputs[1]);
  for (int m = 0; m < 2; ++m) {
    const auto placement = slice({2, 8, 8}, 0, m, 2, trace::MeshAxis::kMicrobatch);
    Tap tap{0, "x"};
    tap.microbatch = m;
    const Values input = normal_values(64, equal_inputs ? 3 : 3 + static_cast<uint64_t>(m));
    const int64_t operand = builder.add(tap, input, placement);
    tap.site = "fc";
    tap.links = {operand};
    builder.add(tap, outputs[m], placement);
  }
  return builder;
}

std::string of_microbatches(bool equal_inputs, const std::function<void(Values&, Values&)>& edit,
                            bool values = false) {
  const auto leave = [](Values&, Values&) {};
  return signature_of(
      verdict_of(microbatches(equal_inputs, edit), microbatches(equal_inputs, leave), values));
}

TEST(Signatures, StaleOfTheMicrobatchBefore) {
  const auto read_early = [](Values& first, Values& second) { second = first; };
  EXPECT_EQ(of_microbatches(false, read_early), "stale");
  EXPECT_EQ(of_microbatches(false, read_early, true), "stale");
}

TEST(Signatures, StaleRefusesWhatIsEqualByNature) {
  const auto same_wrong_values = [](Values& first, Values& second) {
    first = second = normal_values(first.size(), 9);
  };
  EXPECT_NE(of_microbatches(true, same_wrong_values), "stale") << "equal operands";
  EXPECT_NE(of_microbatches(false, same_wrong_values, true), "stale") << "wrong from the first on";
  const auto all_zero = [](Values& first, Values& second) {
    first = second = Values(first.size(), 0);
  };
  EXPECT_NE(of_microbatches(false, all_zero), "stale");
  const auto ones_and_zeros = [](Values& first, Values& second) {
    first = second = Values(first.size(), 0);
    first[5] = second[5] = 1;
  };
  EXPECT_NE(of_microbatches(false, ones_and_zeros), "stale");
}

// Gradients of `w` of two microbatches, whose sum the reference judges: that of the second is made
// of its own operand, or is the first's once more.
TraceBuilder gradient_terms(bool again, uint64_t second_operand = 4) {
  TraceBuilder builder;
  builder.microbatches(2);
  trace::Placement term = trace::whole({"out"}, {64});
  term.mesh.push_back({trace::MeshAxis::kMicrobatch, trace::PlacementKind::kPartial});
  std::vector<int64_t> operands;
  for (int m = 0; m < 2; ++m) {
    Tap operand{0, "fc", Phase::kBackward, "grad_output"};
    operand.microbatch = m;
    operands.push_back(builder.add(operand, normal_values(64, m == 0 ? 3 : second_operand),
                                   slice({2, 8, 8}, 0, m, 2, trace::MeshAxis::kMicrobatch)));
    Tap gradient{0, "w", Phase::kBackward, "grad"};
    gradient.microbatch = m;
    gradient.links = {operands[again ? 0 : static_cast<size_t>(m)]};
    builder.add(gradient, normal_values(64, again || m == 0 ? 7 : 8), term);
  }
  return builder;
}

TEST(Signatures, StaleTermOfASumOverMicrobatches) {
  for (const bool values : {false, true}) {
    const Verdict verdict = verdict_of(gradient_terms(true), gradient_terms(false), values);
    EXPECT_EQ(signature_of(verdict), "stale") << to_text(verdict);
    // Microbatches of equal operands have equal gradients.
    EXPECT_NE(signature_of(verdict_of(gradient_terms(true, 3), gradient_terms(false, 3), values)),
              "stale");
  }
}

// A parameter that step 0 moved and step 1 starts with as `starts_with`.
std::string of_parameter(const Values& starts_with) {
  TraceBuilder builder;
  builder.add({0, "w", Phase::kForward, "param"}, normal_values(64, 1), copies({64}));
  builder.add({0, "w", Phase::kUpdate, "param"}, normal_values(64, 2), copies({64}));
  builder.begin_step(1);
  builder.add({0, "w", Phase::kForward, "param"}, starts_with, copies({64}));
  return signature_of(scan_with_values(builder));
}

TEST(Signatures, StaleParameter) {
  EXPECT_EQ(of_parameter(normal_values(64, 1)), "stale");
  EXPECT_EQ(of_parameter(normal_values(64, 3)), "") << "wrong, but not of the step before";
  EXPECT_EQ(of_parameter(normal_values(64, 2)), "no origin");
}

}  // namespace
}  // namespace nanhunt::compare::test
