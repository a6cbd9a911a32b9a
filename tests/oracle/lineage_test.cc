// SPDX-License-Identifier: Apache-2.0
// Each way in which a value becomes NaN or Inf, planted; and that the next of kin is told apart.
#include "oracle/replay/lineage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/compare/trace_builder.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::oracle::test {
namespace {

using compare::test::copies;
using compare::test::partial;
using compare::test::Tap;
using compare::test::TraceBuilder;
using compare::test::Values;
using testing::HasSubstr;
using trace::Phase;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Lineage lineage_in(const TraceBuilder& builder, int64_t sequence, bool values = true) {
  const ScratchFolder folder;
  builder.write(folder.path(), values);
  const trace::TraceReader reader(folder.path());
  const trace::Step step = reader.read_step(0);
  return lineage_of(ReplayIndex(step), &reader,
                    step.records[static_cast<size_t>(step.find(0, sequence))]);
}

struct Given {
  Tap tap;
  Values values;
  std::vector<int64_t> shape;
};

// The op at `op` of these operands, whose output was recorded as `found`.
Lineage lineage_of_op(std::vector<Given> operands, Tap op, const Values& found,
                      const std::vector<int64_t>& shape) {
  TraceBuilder builder;
  for (const Given& given : operands)
    op.links.push_back(builder.add(given.tap, given.values, copies(given.shape)));
  return lineage_in(builder, builder.add(op, found, copies(shape)));
}

Given input(const Values& values, std::vector<int64_t> shape) {
  return {{.site = "before"}, values, std::move(shape)};
}

TEST(Lineage, ProductBeyondTheTypeIsOverflow) {
  const Given weight{{.site = "fc.weight", .role = "param"}, {300, 300}, {1, 2}};
  const Tap op{.site = "fc", .storage = trace::DType::kFloat16, .op = "linear"};
  const auto told =
      lineage_of_op({input({200, 200, 1, 1}, {1, 2, 2}), weight}, op, {kInf, 600}, {1, 2, 1});
  EXPECT_EQ(told.kind, "overflow") << told.detail;
  EXPECT_THAT(told.detail, HasSubstr("sample 0, token 0, channel 0"));
  EXPECT_THAT(told.detail, HasSubstr("1.2e+05"));
  // Of the same operands at the token whose product fits.
  EXPECT_EQ(
      lineage_of_op({input({200, 200, 1, 1}, {1, 2, 2}), weight}, op, {60000, kInf}, {1, 2, 1})
          .kind,
      "not_from_operands");
}

TEST(Lineage, NanThatNoOperandExplainsAppearedBehindTheOp) {
  const auto told = lineage_of_op({input({1, 2}, {1, 1, 2})}, {.site = "act", .op = "silu"},
                                  {0.7f, kNan}, {1, 1, 2});
  EXPECT_EQ(told.kind, "not_from_operands");
  EXPECT_THAT(told.detail, HasSubstr("channel 1"));
}

TEST(Lineage, NanOfAnOperandIsHandedOn) {
  const auto told = lineage_of_op({input({kNan, 2}, {1, 1, 2})}, {.site = "act", .op = "silu"},
                                  {kNan, 1.7f}, {1, 1, 2});
  EXPECT_EQ(told.kind, "handed_on");
  EXPECT_THAT(told.detail, HasSubstr("before"));
}

TEST(Lineage, RootOfZeroIsNamed) {
  const Tap op{.site = "norm", .op = "rms_norm", .attributes = R"({"eps":0})"};
  EXPECT_EQ(lineage_of_op({input({0, 0, 1, 1}, {1, 2, 2})}, op, {kNan, kNan, 1, 1}, {1, 2, 2}).kind,
            "rsqrt_of_zero");
  // With an eps the formula has a result.
  Tap with_eps = op;
  with_eps.attributes = R"({"eps":0.01})";
  EXPECT_EQ(
      lineage_of_op({input({0, 0, 1, 1}, {1, 2, 2})}, with_eps, {kNan, kNan, 1, 1}, {1, 2, 2}).kind,
      "not_from_operands");
}

TEST(Lineage, RowWithoutKeysIsNamed) {
  const Values qkv(12, 0.5f);
  const Tap op{
      .site = "core", .op = "composed_attention", .attributes = R"({"scale":1,"head_size":2})"};
  const auto told_with = [&](const Values& mask) {
    return lineage_of_op(
        {input(qkv, {1, 2, 6}),
         {{.site = "core", .role = "mask", .storage = trace::DType::kBool}, mask, {1, 2, 2}}},
        op, {kNan, kNan, 0.5f, 0.5f}, {1, 2, 2});
  };
  EXPECT_EQ(told_with({1, 1, 0, 0}).kind, "all_masked");
  EXPECT_EQ(told_with({0, 1, 0, 0}).kind, "not_from_operands");
}

TEST(Lineage, LogOfZeroIsNamed) {
  const Given sums{{.site = "loss", .phase = Phase::kLoss, .role = "sum_exp"}, {0, 2}, {1, 2}};
  const Given targets{
      {.site = "loss", .phase = Phase::kLoss, .role = "target_logit"}, {1, 1}, {1, 2}};
  const Tap op{.site = "loss", .phase = Phase::kLoss, .role = "token_loss", .op = "cross_entropy"};
  EXPECT_EQ(lineage_of_op({sums, targets}, op, {-kInf, 0}, {1, 2}).kind, "log_of_zero");
}

TEST(Lineage, TheFirstInfIsTheElementBeforeAnyNan) {
  const Given weight{{.site = "fc.weight", .role = "param"}, {300, 300}, {1, 2}};
  const Tap op{.site = "fc", .storage = trace::DType::kFloat16, .op = "linear"};
  const auto told =
      lineage_of_op({input({1, 1, 200, 200}, {1, 2, 2}), weight}, op, {kNan, kInf}, {1, 2, 1});
  EXPECT_EQ(told.kind, "overflow");
  EXPECT_THAT(told.detail, HasSubstr("token 1"));
}

TEST(Lineage, ParametersAreLoaded) {
  TraceBuilder builder;
  EXPECT_EQ(lineage_in(builder, builder.add({.site = "fc.weight", .role = "param"}, {kNan, 1},
                                            copies({1, 2})))
                .kind,
            "loaded");
}

// All-reduce over two ranks.
Lineage lineage_of_sum(const Values& zero, const Values& one) {
  TraceBuilder builder(2);
  std::vector<int64_t> operands, results;
  for (const int rank : {0, 1}) {
    operands.push_back(builder.add({.rank = rank,
                                    .site = "fc",
                                    .phase = Phase::kPreCollective,
                                    .storage = trace::DType::kFloat16},
                                   rank == 0 ? zero : one, partial({1, 1, 2})));
  }
  for (const int rank : {0, 1}) {
    results.push_back(builder.add({.rank = rank,
                                   .site = "fc",
                                   .phase = Phase::kPostCollective,
                                   .links = {operands[static_cast<size_t>(rank)]},
                                   .storage = trace::DType::kFloat16},
                                  {kInf, 1}, copies({1, 1, 2})));
  }
  builder.collective("all_reduce", {0, 1}, operands, results);
  return lineage_in(builder, results[0]);
}

TEST(Lineage, AReductionTellsWhoseOperandItWas) {
  const auto told = lineage_of_sum({1, 1}, {kInf, 1});
  EXPECT_EQ(told.kind, "received");
  EXPECT_THAT(told.detail, HasSubstr("ranks 1"));
  EXPECT_EQ(lineage_of_sum({60000, 1}, {60000, 1}).kind, "overflow_in_reduction");
}

TEST(Lineage, AResultThatNoSumOfItsOperandsReachesIsNoOverflow) {
  const auto told = lineage_of_sum({30000, 1}, {30000, 1});
  EXPECT_EQ(told.kind, "not_from_operands");
  EXPECT_THAT(told.detail, HasSubstr("ends at 6.55e+04"));
  // The operands' sizes count, whichever signs they have: an order may add up those of one sign.
  EXPECT_EQ(lineage_of_sum({60000, 1}, {-60000, 1}).kind, "overflow_in_reduction");
}

// The gradient that `op` hands on to its operand x.
Lineage lineage_of_gradient(const Tap& op, const Values& x, const Values& gradient,
                            const Values& found) {
  const auto width = static_cast<int64_t>(x.size());
  TraceBuilder builder;
  Tap forward = op;
  forward.links = {builder.add({.site = "before"}, x, copies({1, 1, width}))};
  builder.add(forward, Values(x.size(), 1), copies({1, 1, width}));
  const auto given = builder.add(
      {.site = op.site, .phase = Phase::kBackward, .role = "grad_output", .storage = op.storage},
      gradient, copies({1, 1, width}));
  return lineage_in(builder, builder.add({.site = op.site,
                                          .phase = Phase::kBackward,
                                          .role = "grad_input",
                                          .links = {0, given},
                                          .storage = op.storage},
                                         found, copies({1, 1, width})));
}

TEST(Lineage, DerivativeOfARootDividesByIt) {
  const Tap root{.site = "own", .op = "sqrt"};
  EXPECT_EQ(lineage_of_gradient(root, {0, 4}, {1, 1}, {kInf, 0.25f}).kind, "rsqrt_of_zero");
  EXPECT_EQ(lineage_of_gradient(root, {1, 4}, {1, 1}, {kInf, 0.25f}).kind, "not_from_operands");
}

TEST(Lineage, GradientBeyondTheTypeIsOverflow) {
  const Tap op{.site = "own", .storage = trace::DType::kFloat16, .op = "reciprocal"};
  EXPECT_EQ(lineage_of_gradient(op, {0.001f, 1}, {1, 1}, {-kInf, -1}).kind, "overflow");
  EXPECT_EQ(lineage_of_gradient(op, {0.1f, 1}, {1, 1}, {-kInf, -1}).kind, "not_from_operands");
}

// The norm's derivative was made before, and is finite: what it divides by explains nothing here.
TEST(Lineage, AGradientHandedOnAsItIsFormsNothing) {
  TraceBuilder builder;
  const auto shape = copies({1, 1, 2});
  const auto x = builder.add({.site = "before"}, {0, 0}, shape);
  builder.add({.site = "norm", .links = {x}, .op = "rms_norm", .attributes = R"({"eps":0})"},
              {0, 0}, shape);
  const auto given =
      builder.add({.site = "norm", .phase = Phase::kBackward, .role = "grad_input"}, {1, 1}, shape);
  const auto at = builder.add(
      {.site = "before", .phase = Phase::kBackward, .role = "grad_output", .links = {x, given}},
      {kNan, 1}, shape);
  EXPECT_EQ(lineage_in(builder, at).kind, "not_from_operands");
}

TEST(Lineage, WithoutValuesItIsUnknown) {
  TraceBuilder builder;
  const auto given = builder.add({.site = "before"}, {1, 2}, copies({1, 1, 2}));
  const auto at =
      builder.add({.site = "act", .links = {given}, .op = "silu"}, {1, kNan}, copies({1, 1, 2}));
  EXPECT_EQ(lineage_in(builder, at, false).kind, "unknown");
  EXPECT_EQ(lineage_in(builder, at, true).kind, "not_from_operands");
}

TEST(Lineage, OpsWithoutAReplayAreUnknown) {
  const auto told = lineage_of_op({input({1, 2}, {1, 1, 2})}, {.site = "own", .op = "my_kernel"},
                                  {1, kNan}, {1, 1, 2});
  EXPECT_EQ(told.kind, "unknown");
  EXPECT_THAT(told.detail, HasSubstr("no replay of my_kernel"));
}

}  // namespace
}  // namespace nanhunt::oracle::test
