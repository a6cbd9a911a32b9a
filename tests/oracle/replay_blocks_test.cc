// SPDX-License-Identifier: Apache-2.0
// A record computed again block by block is what it is in one piece, and takes little memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "oracle/replay/recompute.h"
#include "oracle/replay/value_stream.h"
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

const std::string kSite = "block.op";

size_t count_of(const std::vector<int64_t>& shape) {
  size_t count = 1;
  for (const int64_t extent : shape) count *= static_cast<size_t>(extent);
  return count;
}

// A record computed in blocks, put together again, and in one piece.
struct BothWays {
  Recomputed whole;
  std::vector<double> recorded, found, values, magnitudes;
  int blocks = 0;
  int64_t bytes = 0;  // that blocks take
};

BothWays both_ways(const TraceBuilder& builder, int64_t at) {
  const ScratchFolder folder;
  builder.write(folder.path());
  const trace::TraceReader reader(folder.path());
  const trace::Step step = reader.read_step(0);
  const ReplayIndex index(step);
  const auto& record = step.records[static_cast<size_t>(step.find(0, at))];
  std::string why_not;
  BothWays both;
  const auto whole = recompute(index, reader, record, why_not);
  EXPECT_TRUE(whole) << why_not;
  if (!whole) return both;
  both.whole = *whole;
  both.recorded = read_tensor(reader, record).values;
  both.bytes = recompute_bytes(index, reader, record);
  const auto take = [&](const Compared& block) {
    EXPECT_EQ(block.begin, static_cast<int64_t>(both.values.size()));
    EXPECT_LE(block.values.size(), static_cast<size_t>(kBlockElements));
    EXPECT_EQ(block.roundings, whole->roundings);
    EXPECT_EQ(block.derivative_of, whole->derivative_of);
    both.found.insert(both.found.end(), block.found.begin(), block.found.end());
    both.values.insert(both.values.end(), block.values.begin(), block.values.end());
    both.magnitudes.insert(both.magnitudes.end(), block.magnitudes.begin(), block.magnitudes.end());
    ++both.blocks;
  };
  EXPECT_TRUE(recompute_by_blocks(index, reader, record, take, why_not)) << why_not;
  return both;
}

void expect_the_same(const BothWays& both, const std::string& what) {
  EXPECT_FALSE(both.recorded.empty()) << what;
  EXPECT_EQ(both.found, both.recorded) << what;
  EXPECT_EQ(both.values, both.whole.values) << what;
  EXPECT_EQ(both.magnitudes, both.whole.magnitudes) << what;
}

// More than two pieces of a stream of FP32, and no whole number of blocks.
const std::vector<int64_t> kLarge{70, 20, 32};
constexpr int64_t kLittle = 1 << 20;  // bytes

struct Input {
  Tap tap;
  std::vector<int64_t> shape;
};

Input parameter(const std::string& name, std::vector<int64_t> shape) {
  return {{.site = kSite + ("." + name), .role = "param"}, std::move(shape)};
}

// The op's output of an activation and these operands in blocks is what it is in one piece.
void expect_blocks_give_the_same(const std::string& kind, const std::string& attributes,
                                 std::vector<int64_t> shape, const std::vector<Input>& more) {
  TraceBuilder builder;
  std::vector<int64_t> links{
      builder.add({.site = "before"}, normal_values(count_of(shape), 1), copies(shape))};
  for (const Input& input : more) {
    Values values = normal_values(count_of(input.shape), links.size() + 1);
    if (input.tap.role == "mask") {
      for (float& value : values) value = value > 0 ? 1.0f : 0.0f;
    }
    links.push_back(builder.add(input.tap, values, copies(input.shape)));
  }
  if (kind == "linear") shape.back() = more.front().shape.front();
  const auto at = builder.add({.site = kSite, .links = links, .op = kind, .attributes = attributes},
                              normal_values(count_of(shape), 8), copies(shape));
  const BothWays both = both_ways(builder, at);
  expect_the_same(both, kind);
  EXPECT_GE(both.blocks, 2) << kind;
  if (kind != "linear") {
    EXPECT_LT(both.bytes, kLittle) << kind;
  }
}

TEST(Blocks, GiveWhatOnePieceGives) {
  const Input other{{.site = "other"}, kLarge}, third{{.site = "third"}, kLarge};
  for (const char* kind : {"gelu", "silu", "softmax", "exp", "tanh", "add"})
    expect_blocks_give_the_same(kind, "", kLarge, {});
  for (const char* kind : {"add", "mul", "div"})
    expect_blocks_give_the_same(kind, "", kLarge, {other});
  expect_blocks_give_the_same("add", "", kLarge, {other, third});
  const Input weight = parameter("weight", {32}), bias = parameter("bias", {32});
  expect_blocks_give_the_same("rms_norm", R"({"eps":0.01})", kLarge, {weight});
  expect_blocks_give_the_same("layer_norm", R"({"eps":0.01})", kLarge, {weight, bias});
  const Input mask{{.site = kSite, .role = "mask", .storage = trace::DType::kBool}, kLarge};
  expect_blocks_give_the_same("dropout", R"({"p":0.25})", kLarge, {mask});
  expect_blocks_give_the_same("linear", "", {600, 8, 4}, {parameter("weight", {256, 4})});
}

// A gradient is the sum of what its consumers handed on: here by a function and as it is.
TEST(Blocks, OfAGradientAddUpWhatConsumersHandOn) {
  TraceBuilder builder;
  const size_t count = count_of(kLarge);
  const auto x = builder.add({.site = "before"}, normal_values(count, 1), copies(kLarge));
  builder.add({.site = "act", .links = {x}, .op = "silu"}, normal_values(count, 2), copies(kLarge));
  builder.add({.site = "sum", .links = {x}, .op = "add"}, normal_values(count, 3), copies(kLarge));
  const auto gradient = [&](const char* site, uint64_t seed, std::vector<int64_t> links) {
    return builder.add(
        {.site = site, .phase = Phase::kBackward, .role = "grad_output", .links = std::move(links)},
        normal_values(count, seed), copies(kLarge));
  };
  const auto of_act = gradient("act", 4, {}), of_sum = gradient("sum", 5, {});
  const BothWays both = both_ways(builder, gradient("before", 6, {x, of_act, of_sum}));
  expect_the_same(both, "gradient");
  EXPECT_GE(both.blocks, 2);
  EXPECT_LT(both.bytes, kLittle);
  // Must fail: with one consumer less it is another sum.
  const BothWays less = both_ways(builder, gradient("before", 7, {x, of_act}));
  EXPECT_NE(less.values, both.values);
}

TEST(Blocks, OfCodesAreDividedByTheirScale) {
  TraceBuilder builder;
  Values codes;
  for (size_t i = 0; i < count_of(kLarge); ++i) codes.push_back(static_cast<float>(i % 127));
  const auto x = builder.add({.site = "before"}, normal_values(codes.size(), 1), copies(kLarge));
  const auto at = builder.add({.site = kSite,
                               .links = {x},
                               .storage = trace::DType::kFloat8E4M3,
                               .op = "quantise",
                               .attributes = R"({"scale":64})"},
                              codes, copies(kLarge));
  const BothWays both = both_ways(builder, at);
  expect_the_same(both, "codes");
  EXPECT_GE(both.blocks, 2);
  EXPECT_EQ(std::ranges::max(both.found), 448.0 / 64);
}

TEST(Blocks, OfNothingAreOneThatIsEmpty) {
  for (const char* kind : {"silu", "softmax"}) {
    TraceBuilder builder;
    const auto x = builder.add({.site = "before"}, {}, copies({0, 4}));
    const auto at = builder.add({.site = kSite, .links = {x}, .op = kind}, {}, copies({0, 4}));
    const BothWays both = both_ways(builder, at);
    EXPECT_EQ(both.blocks, 1);
    EXPECT_TRUE(both.values.empty());
  }
}

// An operand in another order of its dimensions is read whole and turned.
TEST(Blocks, OfOperandsInAnotherOrderAreOfOnePiece) {
  TraceBuilder builder;
  const size_t count = count_of(kLarge);
  trace::Placement turned = copies({20, 70, 32});
  std::swap(turned.axes[0], turned.axes[1]);
  const auto x = builder.add({.site = "before"}, normal_values(count, 1), turned);
  const auto add = [&](const trace::Placement& placement) {
    return builder.add({.site = kSite, .links = {x}, .op = "silu"}, normal_values(count, 2),
                       placement);
  };
  const BothWays both = both_ways(builder, add(copies(kLarge)));
  expect_the_same(both, "turned");
  EXPECT_GT(both.bytes, kLittle);
  const BothWays as_it_lies = both_ways(builder, add(turned));
  EXPECT_NE(as_it_lies.values, both.values);
  EXPECT_EQ(as_it_lies.values[32], both.values[20 * 32]);  // [0, 1] of one is [1, 0] of the other
}

}  // namespace
}  // namespace nanhunt::oracle::test
