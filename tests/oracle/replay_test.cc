// SPDX-License-Identifier: Apache-2.0
// Each replay: what it gives forward, against values worked out here in another way; and that its
// backward is the derivative of its forward, by finite differences.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "oracle/replay/recompute.h"
#include "tests/compare/trace_builder.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::oracle::test {
namespace {

using compare::test::copies;
using compare::test::normal_values;
using compare::test::Tap;
using compare::test::TraceBuilder;
using compare::test::Values;
using trace::Phase;

struct Input {
  Tap tap;
  std::vector<int64_t> shape;
  Values values;
  bool differentiable = false;
  bool read_backward = true;  // by derivatives with respect to the op's other inputs
  bool read_by_own = true;    // and to itself
};

struct Op {
  std::string name;
  std::string kind;
  std::string attributes;
  std::vector<Input> inputs;
  std::vector<int64_t> output;
  std::string role = "output";
  Phase phase = Phase::kForward;

  friend void PrintTo(const Op& op, std::ostream* out) { *out << op.name; }
};

constexpr const char* kSite = "block.op";
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Input activation(std::vector<int64_t> shape, uint64_t seed) {
  size_t count = 1;
  for (const int64_t extent : shape) count *= static_cast<size_t>(extent);
  return {{.site = "before"}, std::move(shape), normal_values(count, seed), true};
}

Input parameter(const std::string& name, std::vector<int64_t> shape, uint64_t seed) {
  Input input = activation(std::move(shape), seed);
  input.tap = {.site = std::string(kSite) + "." + name, .role = "param"};
  return input;
}

size_t count_of(const std::vector<int64_t>& shape) {
  size_t count = 1;
  for (const int64_t extent : shape) count *= static_cast<size_t>(extent);
  return count;
}

// The record of that rank and sequence, written and read again.
std::optional<Recomputed> recomputed(const TraceBuilder& builder, int64_t at, std::string& why_not,
                                     int rank = 0) {
  const ScratchFolder folder;
  builder.write(folder.path());
  const trace::TraceReader reader(folder.path());
  const trace::Step step = reader.read_step(0);
  return recompute(ReplayIndex(step), reader,
                   step.records[static_cast<size_t>(step.find(rank, at))], why_not);
}

// The op's output, or the gradient of input number `target`, computed by replay. `gradient`: that
// of the output.
Recomputed replayed(const Op& op, const Values& gradient, int target) {
  TraceBuilder builder;
  std::vector<int64_t> links;
  for (const Input& input : op.inputs)
    links.push_back(builder.add(input.tap, input.values, copies(input.shape)));
  int64_t at = builder.add({.site = kSite,
                            .phase = op.phase,
                            .role = op.role,
                            .links = links,
                            .op = op.kind,
                            .attributes = op.attributes},
                           Values(count_of(op.output)), copies(op.output));
  if (target >= 0) {
    links.clear();
    for (size_t k = 0; k < op.inputs.size(); ++k) {
      const Input& input = op.inputs[k];
      const bool own = static_cast<int>(k) == target;
      const bool for_bias = op.inputs[static_cast<size_t>(target)].tap.site.ends_with(".bias");
      if (own ? input.read_by_own : input.read_backward && !for_bias)
        links.push_back(static_cast<int64_t>(k));
    }
    links.push_back(builder.add({.site = kSite, .phase = Phase::kBackward, .role = "grad_output"},
                                gradient, copies(op.output)));
    const Input& input = op.inputs[static_cast<size_t>(target)];
    const bool parameter = input.tap.role == "param";
    at = builder.add({.site = parameter ? input.tap.site : kSite,
                      .phase = Phase::kBackward,
                      .role = parameter ? "grad" : "grad_input",
                      .links = links},
                     Values(input.values.size()), copies(input.shape));
  }
  std::string why_not;
  auto result = recomputed(builder, at, why_not);
  EXPECT_TRUE(result) << why_not;
  return result ? std::move(*result) : Recomputed{};
}

std::vector<double> forward(const Op& op) {
  return replayed(op, {}, -1).values;
}

double dot(const std::vector<double>& a, const Values& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * static_cast<double>(b[i]);
  return sum;
}

class ReplayOfOp : public testing::TestWithParam<Op> {};

TEST_P(ReplayOfOp, BackwardIsTheDerivativeOfForward) {
  const Op& op = GetParam();
  const Values gradient = normal_values(count_of(op.output), 99);
  int checked = 0;
  for (size_t k = 0; k < op.inputs.size(); ++k) {
    if (!op.inputs[k].differentiable) continue;
    const auto derivative = replayed(op, gradient, static_cast<int>(k)).values;
    ASSERT_EQ(derivative.size(), op.inputs[k].values.size());
    const size_t stride = std::max<size_t>(1, derivative.size() / 5);
    for (size_t i = 0; i < derivative.size(); i += stride) {
      const float h = 1.0f / 1024;
      Op up = op, down = op;
      up.inputs[k].values[i] += h;
      down.inputs[k].values[i] -= h;
      const double width = static_cast<double>(up.inputs[k].values[i]) -
                           static_cast<double>(down.inputs[k].values[i]);
      const double slope = (dot(forward(up), gradient) - dot(forward(down), gradient)) / width;
      EXPECT_NEAR(derivative[i], slope, 2e-5 * (1 + std::abs(slope)))
          << op.name << " input " << k << " element " << i;
      ++checked;
    }
  }
  EXPECT_GT(checked, 0);
}

TEST_P(ReplayOfOp, MagnitudesBoundTheValues) {
  const Recomputed result = replayed(GetParam(), {}, -1);
  ASSERT_FALSE(result.values.empty());
  for (size_t i = 0; i < result.values.size(); ++i)
    EXPECT_GE(result.magnitudes[i] * (1 + 1e-12), std::abs(result.values[i]));
}

Input read_by_others(Input input) {
  input.read_by_own = false;
  return input;
}

Input never_read(Input input) {
  input.read_by_own = input.read_backward = false;
  return input;
}

Op linear_of(std::vector<Input> bias) {
  Op op{"linear",
        "linear",
        "",
        {read_by_others(activation({2, 3, 4}, 1)), read_by_others(parameter("weight", {5, 4}, 2))},
        {2, 3, 5}};
  for (Input& input : bias) op.inputs.push_back(never_read(std::move(input)));
  return op;
}

Op norm(const std::string& kind, bool bias) {
  Op op{kind,
        kind,
        R"({"eps":0.01})",
        {activation({2, 3, 5}, 1), parameter("weight", {5}, 2)},
        {2, 3, 5}};
  if (bias) op.inputs.push_back(never_read(parameter("bias", {5}, 3)));
  return op;
}

Op attention_of(const std::string& attributes) {
  Values mask;  // [sample, query, key], causal; in sample 1 key 0 is left out of query 3, too
  for (int sample = 0; sample < 2; ++sample) {
    for (int query = 0; query < 4; ++query) {
      for (int key = 0; key < 4; ++key)
        mask.push_back(key > query || (sample == 1 && query == 3 && key == 0) ? 1.0f : 0.0f);
    }
  }
  return {"attention",
          "composed_attention",
          attributes,
          {activation({2, 4, 24}, 4),
           {{.site = kSite, .role = "mask", .storage = trace::DType::kBool}, {2, 4, 4}, mask}},
          {2, 4, 8}};
}

Op dropout_of(int rows) {
  Values mask;
  for (int i = 0; i < rows * 3; ++i) mask.push_back(i % 3 == 1 ? 0 : 1);
  return {
      "dropout",
      "dropout",
      R"({"p":0.25})",
      {read_by_others(activation({2, rows / 2, 3}, 5)),
       {{.site = kSite, .role = "mask", .storage = trace::DType::kBool}, {2, rows / 2, 3}, mask}},
      {2, rows / 2, 3}};
}

// Of numbers within [0.5, 2.5], where all of them are defined.
Op function(const std::string& kind) {
  Op op{kind, kind, "", {activation({2, 3, 4}, 1)}, {2, 3, 4}};
  for (float& x : op.inputs[0].values) x = 1.5f + std::clamp(x / 2, -1.0f, 1.0f);
  return op;
}

std::vector<Op> ops() {
  std::vector<Op> list{
      linear_of({parameter("bias", {5}, 3)}),
      linear_of({}),
      {"add",
       "add",
       "",
       {never_read(activation({2, 3, 4}, 1)), never_read(activation({2, 3, 4}, 2))},
       {2, 3, 4}},
      {"gelu", "gelu", "", {activation({2, 3, 4}, 1)}, {2, 3, 4}},
      {"gelu_tanh", "gelu", R"({"tanh":true})", {activation({2, 3, 4}, 1)}, {2, 3, 4}},
      {"silu", "silu", "", {activation({2, 3, 4}, 1)}, {2, 3, 4}},
      norm("rms_norm", false),
      norm("layer_norm", true),
      {"embedding",
       "embedding",
       "",
       {{{.site = "data", .role = "tokens", .storage = trace::DType::kInt64},
         {2, 3},
         {0, 3, 1, 3, 2, 0}},
        parameter("weight", {4, 5}, 2)},
       {2, 3, 5}},
      attention_of(R"({"scale":0.5,"head_size":4})"),
      attention_of(R"({"scale":0.5,"head_size":4,"rotary_base":100})"),
  };
  list[1].name = "linear_without_bias";
  list.back().name = "attention_rotary";
  list.push_back({"softmax", "softmax", "", {activation({2, 3, 4}, 1)}, {2, 3, 4}});
  list.push_back(dropout_of(4));
  for (const char* kind :
       {"exp", "log", "sqrt", "rsqrt", "reciprocal", "tanh", "sigmoid", "relu"}) {
    list.push_back(function(kind));
  }
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, ReplayOfOp, testing::ValuesIn(ops()),
                         [](const auto& op) { return op.param.name; });

TEST(Replay, LinearIsTheProductPlusBias) {
  const Op op{"linear",
              "linear",
              "",
              {{{.site = "before"}, {2, 2}, {1, 2, 3, 4}},
               {{.site = "block.op.weight", .role = "param"}, {3, 2}, {1, 0, 0, 1, 2, -1}},
               {{.site = "block.op.bias", .role = "param"}, {3}, {10, 20, 30}}},
              {2, 3}};
  EXPECT_EQ(forward(op), (std::vector<double>{11, 22, 30, 13, 24, 32}));
}

TEST(Replay, ProductAndQuotientOfTwo) {
  Op op{"mul", "mul", "", {activation({3}, 1), activation({3}, 2)}, {3}};
  op.inputs[0].values = {1, 2, 3};
  op.inputs[1].values = {4, -5, 8};
  EXPECT_EQ(forward(op), (std::vector<double>{4, -10, 24}));
  op.kind = "div";
  EXPECT_EQ(forward(op), (std::vector<double>{0.25, -0.4, 0.375}));
}

TEST(Replay, DropoutKeepsWhatItsMaskKeeps) {
  Op op = dropout_of(2);
  op.inputs[0].values = {3, 3, 3, 6, kNan, 6};
  EXPECT_EQ(forward(op), (std::vector<double>{4, 0, 4, 8, 0, 8}));
}

TEST(Replay, SoftmaxOfAnotherDimensionIsLeftUnexplained) {
  TraceBuilder builder;
  const auto x = builder.add({.site = "before"}, normal_values(8, 1), copies({2, 4}));
  const auto at =
      builder.add({.site = kSite, .links = {x}, .op = "softmax", .attributes = R"({"dim":0})"},
                  Values(8), copies({2, 4}));
  std::string why_not;
  EXPECT_FALSE(recomputed(builder, at, why_not));
}

TEST(Replay, GeluKnowsBothForms) {
  Op op{"gelu", "gelu", "", {{{.site = "before"}, {3}, {-3, 0.5f, 2}}}, {3}};
  const auto exact = forward(op);
  EXPECT_NEAR(exact[0], -3 * 0.0013498980316301, 1e-14);
  EXPECT_NEAR(exact[2], 2 * 0.9772498680518208, 1e-14);
  op.attributes = R"({"tanh":true})";
  const double inner = std::sqrt(2 / std::numbers::pi) * (2 + 0.044715 * 8);
  EXPECT_NEAR(forward(op)[2], 1 + std::tanh(inner), 1e-14);
  EXPECT_GT(std::abs(forward(op)[2] - exact[2]), 1e-5);
}

TEST(Replay, LayerNormHasMeanZeroAndVarianceOne) {
  Op op{"layer_norm", "layer_norm", R"({"eps":0})", {activation({4, 64}, 7)}, {4, 64}};
  const auto values = forward(op);
  for (size_t row = 0; row < 4; ++row) {
    double mean = 0, square = 0;
    for (size_t c = 0; c < 64; ++c) {
      mean += values[row * 64 + c] / 64;
      square += values[row * 64 + c] * values[row * 64 + c] / 64;
    }
    EXPECT_NEAR(mean, 0, 1e-12);
    EXPECT_NEAR(square, 1, 1e-12);
  }
}

TEST(Replay, RmsNormHasMeanSquareOne) {
  const Op op{"rms_norm", "rms_norm", R"({"eps":0})", {activation({2, 64}, 7)}, {2, 64}};
  double square = 0;
  for (const double value : forward(op)) square += value * value / 128;
  EXPECT_NEAR(square, 1, 1e-12);
}

TEST(Replay, AttentionOfEqualScoresIsTheMeanOfWhatIsVisible) {
  Op op = attention_of(R"({"scale":0.5,"head_size":4})");
  auto& qkv = op.inputs[0].values;  // [2, 4, 2 heads x 3 x 4]: queries are 0
  for (size_t i = 0; i < qkv.size(); ++i) {
    if (i % 12 < 4) qkv[i] = 0;
  }
  const auto y = forward(op);
  const auto v = [&](size_t sample, size_t token) {
    return static_cast<double>(qkv[(sample * 4 + token) * 24 + 8]);
  };
  EXPECT_NEAR(y[0], v(0, 0), 1e-12);
  EXPECT_NEAR(y[3 * 8], (v(0, 0) + v(0, 1) + v(0, 2) + v(0, 3)) / 4, 1e-12);
  EXPECT_NEAR(y[(4 + 3) * 8], (v(1, 1) + v(1, 2) + v(1, 3)) / 3, 1e-12);
}

TEST(Replay, AttentionOfAMaskedRowIsUnknown) {
  Op op = attention_of(R"({"scale":0.5,"head_size":4})");
  for (size_t key = 0; key < 4; ++key) op.inputs[1].values[4 + key] = 1;
  const auto y = forward(op);
  EXPECT_TRUE(std::isnan(y[8]));
  EXPECT_FALSE(std::isnan(y[0]));
}

TEST(Replay, TablesOfOtherRanksGiveZero) {
  TraceBuilder builder(2);
  const auto ids =
      builder.add({.rank = 1, .site = "data", .role = "tokens", .storage = trace::DType::kInt64},
                  {0, 3, 2}, copies({3}));
  const auto table = builder.add({.rank = 1, .site = "words.weight", .role = "param"}, {1, 2, 3, 4},
                                 compare::test::slice({4, 2}, 0, 1, 2));
  const auto at =
      builder.add({.rank = 1, .site = "words", .links = {ids, table}, .op = "embedding"}, Values(6),
                  copies({3, 2}));
  std::string why_not;
  const auto result = recomputed(builder, at, why_not, 1);
  ASSERT_TRUE(result) << why_not;
  EXPECT_EQ(result->values, (std::vector<double>{0, 0, 3, 4, 1, 2}));  // rows 2 and 3 are held
}

TEST(Replay, OperandThatTheFormulaDoesNotKnowLeavesTheRecordUnexplained) {
  TraceBuilder builder;
  const auto x = builder.add({.site = "before"}, normal_values(8, 1), copies({2, 4}));
  const auto w =
      builder.add({.site = "lora.a", .role = "param"}, normal_values(8, 2), copies({2, 4}));
  const auto b = builder.add({.site = "block.op.weight", .role = "param"}, normal_values(8, 3),
                             copies({2, 4}));
  const auto at =
      builder.add({.site = kSite, .links = {x, w, b}, .op = "linear"}, Values(4), copies({2, 2}));
  std::string why_not;
  EXPECT_FALSE(recomputed(builder, at, why_not));
  EXPECT_EQ(why_not, "operands that the formula does not know");
}

// The reason why the gradient of `before` is not computed again, "" where it is. between: the op
// reads a copy that something made of it.
std::string unexplained_gradient(bool between) {
  TraceBuilder builder;
  const Values values = normal_values(8, 1);
  const auto given = builder.add({.site = "before"}, values, copies({2, 4}));
  const auto read = between ? builder.add({.site = kSite, .role = "input", .links = {given}},
                                          values, copies({2, 4}))
                            : given;
  builder.add({.site = kSite, .links = {read}, .op = "silu"}, values, copies({2, 4}));
  const auto gradient = builder.add(
      {.site = kSite, .phase = Phase::kBackward, .role = "grad_output"}, values, copies({2, 4}));
  const auto at = builder.add({.site = "before",
                               .phase = Phase::kBackward,
                               .role = "grad_output",
                               .links = {read, gradient}},
                              values, copies({2, 4}));
  std::string why_not;
  const auto result = recomputed(builder, at, why_not);
  EXPECT_EQ(result.has_value(), why_not.empty());
  return why_not;
}

TEST(Replay, APathThatNoRecordShowsLeavesTheGradientUnexplained) {
  EXPECT_EQ(unexplained_gradient(true),
            "what lies between it and the gradient's op is not recorded");
  EXPECT_EQ(unexplained_gradient(false), "");
}

// The reason why a silu is not computed again, "" where it is.
std::string unexplained_silu(const trace::Placement& of_input, const trace::Placement& of_output) {
  TraceBuilder builder;
  const Values values = normal_values(8, 1);
  const auto given = builder.add({.site = "before"}, values, of_input);
  const auto at = builder.add({.site = kSite, .links = {given}, .op = "silu"}, values, of_output);
  std::string why_not;
  recomputed(builder, at, why_not);
  return why_not;
}

// Their elements may have been moved between the op and the tap.
TEST(Replay, TensorsWhosePlaceIsUnknownAreLeftUnexplained) {
  trace::Placement unknown = copies({2, 4});
  unknown.mesh.push_back({trace::MeshAxis::kTp, trace::PlacementKind::kUnknown});
  EXPECT_EQ(unexplained_silu(copies({2, 4}), copies({2, 4})), "");
  EXPECT_EQ(unexplained_silu(copies({2, 4}), unknown), "its placement is unknown");
  EXPECT_EQ(unexplained_silu(unknown, copies({2, 4})), "the placement of an operand is unknown");
  EXPECT_EQ(unexplained_silu(copies({4, 2}), copies({2, 4})), "operands do not fit the formula");
}

TEST(Replay, RowsOfThePaddingIdGetNoGradient) {
  Op op{"embedding",
        "embedding",
        "",
        {{{.site = "data", .role = "tokens", .storage = trace::DType::kInt64}, {3}, {0, 1, 0}},
         parameter("weight", {2, 2}, 2)},
        {3, 2}};
  const Values gradient{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(replayed(op, gradient, 1).values, (std::vector<double>{6, 8, 3, 4}));
  op.attributes = R"({"padding_idx":0})";
  EXPECT_EQ(replayed(op, gradient, 1).values, (std::vector<double>{0, 0, 3, 4}));
}

}  // namespace
}  // namespace nanhunt::oracle::test
