// SPDX-License-Identifier: Apache-2.0
#include "cli/fault_draw.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "trace/error.h"

namespace nanhunt::cli {
namespace {

namespace fs = std::filesystem;

fs::path write_case(const std::string& name, const std::string& fault) {
  const fs::path file = fs::path(::testing::TempDir()) / (name + ".case");
  std::ofstream(file) << "subject = x\n[fault]\n" << fault;
  return file;
}

TEST(FaultDraw, IsThePublishedGenerator) {
  EXPECT_EQ(splitmix64(0), 0xE220A8397B1DCDAFu);  // first output of the published generator
  EXPECT_EQ(fnv1a(""), 0xCBF29CE484222325u);
  EXPECT_EQ(fnv1a("a"), 0xAF63DC4C8601EC8Cu);
}

TEST(FaultDraw, StaysInRangeAndReachesAllOfIt) {
  const fs::path file = write_case("draw_range", "name = n\nlayer = draw 2..4\nrank = 7\n");
  std::set<int64_t> layers;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const DrawnFault fault = read_fault(file, seed);
    layers.insert(fault.numbers.at("layer"));
    EXPECT_EQ(fault.numbers.at("rank"), 7);
  }
  EXPECT_EQ(layers, (std::set<int64_t>{2, 3, 4}));
}

TEST(FaultDraw, DoesNotHangOnTheOrderOfKeys) {
  const fs::path one = write_case("draw_order", "layer = draw 0..99\nstep = draw 0..99\n");
  const DrawnFault first = read_fault(one, 5);
  const fs::path other = write_case("draw_order", "step = draw 0..99\nlayer = draw 0..99\n");
  EXPECT_EQ(read_fault(other, 5).numbers, first.numbers);
  EXPECT_NE(read_fault(other, 6).numbers, first.numbers);
}

TEST(FaultDraw, RefusesWhatIsNoRange) {
  EXPECT_THROW(read_fault(write_case("draw_bad", "layer = draw 3\n"), 1), trace::Error);
  EXPECT_THROW(read_fault(write_case("draw_bad", "layer = draw 3..2\n"), 1), trace::Error);
  EXPECT_THROW(read_fault(write_case("draw_bad", "layer = some\n"), 1), trace::Error);
}

TEST(FaultDraw, WritesWhatTheSubjectReads) {
  const fs::path file = fs::path(::testing::TempDir()) / "draw_side/side.json";
  write_fault_file({"n", {{"layer", 3}}}, file);
  std::ifstream stream(file);
  const auto fields = nlohmann::json::parse(stream);
  EXPECT_EQ(fields, (nlohmann::json{{"name", "n"}, {"layer", 3}}));
  fs::remove_all(file.parent_path());
}

TEST(FillIn, KnowsNumbersSumsAndChoices) {
  const std::map<std::string, int64_t> drawn = {{"layer", 2}, {"element", 130}};
  EXPECT_EQ(fill_in("decoder.layers.{layer}.mlp", drawn), "decoder.layers.2.mlp");
  EXPECT_EQ(fill_in("tp {element / 128}", drawn), "tp 1");
  EXPECT_EQ(fill_in("{element % 128}+{layer + 1}", drawn), "2+3");
  EXPECT_EQ(fill_in("x.{layer: a b c}.w", drawn), "x.c.w");
  EXPECT_EQ(fill_in("{element: a b c}", drawn), "b");
  EXPECT_EQ(fill_in("plain", drawn), "plain");
}

TEST(FillIn, RefusesWhatWasNotDrawn) {
  EXPECT_THROW(fill_in("{rank}", {{"layer", 2}}), trace::Error);
  EXPECT_THROW(fill_in("{layer * 2}", {{"layer", 2}}), trace::Error);
  EXPECT_THROW(fill_in("{layer", {{"layer", 2}}), trace::Error);
}

}  // namespace
}  // namespace nanhunt::cli
