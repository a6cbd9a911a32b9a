// SPDX-License-Identifier: Apache-2.0
#include "cli/fault_draw.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/scratch_folder.h"
#include "trace/error.h"

namespace nanhunt::cli {
namespace {

namespace fs = std::filesystem;

// Draws from a case file with these lines under [fault].
DrawnFault drawn_from(const std::string& fault, uint64_t seed) {
  const ScratchFolder folder;
  const fs::path file = folder / "some.case";
  std::ofstream(file) << "subject = x\n[fault]\n" << fault;
  return read_fault(file, seed);
}

TEST(FaultDraw, IsThePublishedGenerator) {
  EXPECT_EQ(splitmix64(0), 0xE220A8397B1DCDAFu);  // first output of the published generator
  EXPECT_EQ(fnv1a(""), 0xCBF29CE484222325u);
  EXPECT_EQ(fnv1a("a"), 0xAF63DC4C8601EC8Cu);
}

TEST(FaultDraw, StaysInRangeAndReachesAllOfIt) {
  std::set<int64_t> layers;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const DrawnFault fault = drawn_from("name = n\nlayer = draw 2..4\nrank = 7\n", seed);
    layers.insert(fault.numbers.at("layer"));
    EXPECT_EQ(fault.numbers.at("rank"), 7);
  }
  EXPECT_EQ(layers, (std::set<int64_t>{2, 3, 4}));
}

TEST(FaultDraw, DoesNotHangOnTheOrderOfKeys) {
  const DrawnFault first = drawn_from("layer = draw 0..99\nstep = draw 0..99\n", 5);
  const std::string other = "step = draw 0..99\nlayer = draw 0..99\n";
  EXPECT_EQ(drawn_from(other, 5).numbers, first.numbers);
  EXPECT_NE(drawn_from(other, 6).numbers, first.numbers);
}

TEST(FaultDraw, RefusesWhatIsNoRange) {
  EXPECT_THROW(drawn_from("layer = draw 3\n", 1), trace::Error);
  EXPECT_THROW(drawn_from("layer = draw 3..2\n", 1), trace::Error);
  EXPECT_THROW(drawn_from("layer = some\n", 1), trace::Error);
}

TEST(FaultDraw, WritesWhatTheSubjectReads) {
  const ScratchFolder folder;
  const fs::path file = folder / "below/side.json";
  write_fault_file({"n", {{"layer", 3}}}, file);
  std::ifstream stream(file);
  const auto fields = nlohmann::json::parse(stream);
  EXPECT_EQ(fields, (nlohmann::json{{"name", "n"}, {"layer", 3}}));
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
