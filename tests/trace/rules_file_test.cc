// SPDX-License-Identifier: Apache-2.0
#include "trace/rules_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scratch_folder.h"
#include "tests/trace/example_segments.h"

namespace nanhunt::trace {
namespace {

using test::error_text;
using test::write_bytes;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string rules_error(const std::string& json) {
  const ScratchFolder folder;
  write_bytes(folder.path() / "names.json", json);
  return error_text([&] { read_rules_file(folder.path() / "names.json"); });
}

RulesFile rules_from(const std::string& json) {
  const ScratchFolder folder;
  write_bytes(folder.path() / "names.json", json);
  return read_rules_file(folder.path() / "names.json");
}

// Separate q, k, v of 4 rows each against one fused tensor of 12 rows, in which two groups of heads
// follow one another: q0 k0 v0 q1 k1 v1, two rows each.
constexpr char kFusedQkv[] = R"({"name": "separate to fused", "rules": [
  {"site": "model.layers.*.attn.q_proj", "role": "weight", "to_site": "decoder.layers.$1.qkv",
   "to_shape": [12, 3], "moves": [
    {"from": [0, 0], "to": [0, 0], "extent": [2, 3]},
     {"from": [2, 0], "to": [6, 0], "extent": [2, 3]}]},
  {"site": "model.layers.*.attn.k_proj", "role": "weight", "to_site": "decoder.layers.$1.qkv",
   "to_shape": [12, 3], "moves": [
    {"from": [0, 0], "to": [2, 0], "extent": [2, 3]},
     {"from": [2, 0], "to": [8, 0], "extent": [2, 3]}]},
  {"site": "model.layers.*.attn.v_proj", "role": "weight", "to_site": "decoder.layers.$1.qkv",
   "to_shape": [12, 3], "moves": [
    {"from": [0, 0], "to": [4, 0], "extent": [2, 3]},
     {"from": [2, 0], "to": [10, 0], "extent": [2, 3]}]},
  {"site": "model.**", "to_site": "decoder.$1", "to_role": "renamed"}
]})";

Record record_at(const std::string& site, const std::string& role, Placement placement,
                 int64_t sequence) {
  Record record;
  record.what = {0, site, Phase::kForward, role, 0};
  record.where.sequence = sequence;
  record.raw_digest = 5;
  record.statistics.count = 9;
  record.regions.resize(placement.regions.size());
  record.placement = std::make_shared<Placement>(std::move(placement));
  return record;
}

Placement whole_matrix(int64_t rows, int64_t columns) {
  Placement placement;
  placement.axes = {"row", "column"};
  placement.logical_shape = {rows, columns};
  placement.to_logical = {0, 1};
  placement.regions = {{{0, 0}, {0, 0}, {rows, columns}}};
  return placement;
}

TEST(RulesFile, SeparateProjectionsBecomeRegionsOfTheFusedOne) {
  Step step;
  for (const char* name : {"q_proj", "k_proj", "v_proj"}) {
    step.records.push_back(record_at("model.layers.7.attn." + std::string(name), "weight",
                                     whole_matrix(4, 3),
                                     static_cast<int64_t>(step.records.size())));
  }
  apply_rules(rules_from(kFusedQkv), step);
  ASSERT_EQ(step.by_what().size(), 1u);
  EXPECT_EQ(step.by_what().begin()->first.site, "decoder.layers.7.qkv");
  std::vector<int> covered(12, 0);
  for (const Record& record : step.records) {
    EXPECT_EQ(record.placement->logical_shape, (std::vector<int64_t>{12, 3}));
    EXPECT_EQ(placement_fault(*record.placement, {4, 3}), "");
    EXPECT_TRUE(record.regions.empty());
    EXPECT_EQ(record.statistics.count, 9u);
    EXPECT_EQ(record.raw_digest, 5u);
    for (const Region& region : record.placement->regions) {
      for (int64_t row = 0; row < region.extent[0]; ++row) {
        covered[static_cast<size_t>(region.logical_start[0] + row)]++;
      }
    }
  }
  EXPECT_EQ(covered, std::vector<int>(12, 1));
  EXPECT_EQ(step.records[1].placement->regions[1], (Region{{2, 0}, {8, 0}, {2, 3}}));
}

TEST(RulesFile, RenamedRecordKeepsRegionsAndPrints) {
  Step step;
  step.records = {record_at("model.norm", "weight", whole_matrix(4, 3), 0),
                  record_at("other.norm", "weight", whole_matrix(4, 3), 1)};
  apply_rules(rules_from(kFusedQkv), step);
  EXPECT_EQ(step.records[0].what.site, "decoder.norm");
  EXPECT_EQ(step.records[0].what.role, "renamed");
  EXPECT_EQ(step.records[0].regions.size(), 1u);
  EXPECT_EQ(*step.records[0].placement, whole_matrix(4, 3));
  EXPECT_EQ(step.records[1].what.site, "other.norm");  // no rule fits
}

TEST(RulesFile, FirstRuleThatFitsWins) {
  Step step;
  // The role is not that of the first rule, so the last one applies.
  step.records = {record_at("model.layers.7.attn.q_proj", "grad", whole_matrix(4, 3), 0)};
  apply_rules(rules_from(kFusedQkv), step);
  EXPECT_EQ(step.records[0].what.site, "decoder.layers.7.attn.q_proj");
  EXPECT_EQ(step.records[0].regions.size(), 1u);
}

// A rank holds columns 1 and 2 of rows 1..2, transposed: local [column, row].
TEST(RulesFile, ShardsAndTransposedTensorsMove) {
  Placement shard = whole_matrix(4, 3);
  shard.to_logical = {1, 0};
  shard.regions = {{{0, 0}, {1, 1}, {2, 2}}};
  Step step;
  step.records = {record_at("model.layers.0.attn.q_proj", "weight", shard, 0)};
  apply_rules(rules_from(kFusedQkv), step);
  EXPECT_THAT(step.records[0].placement->regions,
              ElementsAre(Region{{0, 0}, {1, 1}, {1, 2}}, Region{{0, 1}, {6, 1}, {1, 2}}));
}

// A flat shard: elements 4 .. 10 of the flattened 4 x 3 tensor.
TEST(RulesFile, FlatShardsMove) {
  Placement flat = whole_matrix(4, 3);
  flat.to_logical = {0};
  flat.flat = true;
  flat.regions = {{{2}, {4}, {7}}};
  Step step;
  step.records = {record_at("model.layers.0.attn.q_proj", "weight", flat, 0)};
  apply_rules(rules_from(kFusedQkv), step);
  // Elements 4, 5 stay (rows 0, 1); elements 6 .. 10 are rows 2, 3 and go to row 6 of the target.
  EXPECT_THAT(step.records[0].placement->regions,
              ElementsAre(Region{{2}, {4}, {2}}, Region{{4}, {18}, {5}}));
}

TEST(RulesFile, ValuesOfRenamedRecordsAreStillFound) {
  const ScratchFolder folder;
  Segment segment = test::plain_segment(0, 0, 0, 1, 2, 0, CutReason::kStepEnd);
  for (Record& record : segment.records) {
    record.has_values = true;
    segment.values.push_back(test::pattern_bytes(32 * 4, 3));
  }
  write_segment(folder.path(), segment);
  const TraceReader reader(folder.path());
  Step step = reader.read_step(0);
  apply_rules(rules_from(R"({"rules": [{"site": "decoder.**", "to_site": "model.$1"}]})"), step);
  EXPECT_EQ(step.records[1].what.site, "model.layers.1.mlp");
  EXPECT_EQ(reader.read_doubles(step.records[1]).size(), 32u);
  step.records[1].where.sequence = 5;
  EXPECT_THAT(error_text([&] { reader.read_doubles(step.records[1]); }), HasSubstr("no values of"));
}

TEST(RulesFile, MovesThatDoNotFitAreNamed) {
  Step step;
  step.records = {record_at("model.layers.0.attn.q_proj", "weight", whole_matrix(3, 3), 0)};
  EXPECT_THAT(error_text([&] { apply_rules(rules_from(kFusedQkv), step); }),
              AllOf(HasSubstr("separate to fused"), HasSubstr("model.layers.*.attn.q_proj"),
                    HasSubstr("step 0 model.layers.0.attn.q_proj"), HasSubstr("3 x 3")));
}

TEST(RulesFile, UnknownPlacementStaysUnknown) {
  Step step;
  step.records = {record_at("model.layers.0.attn.q_proj", "weight", Placement{}, 0)};
  apply_rules(rules_from(kFusedQkv), step);
  EXPECT_TRUE(is_unknown(*step.records[0].placement));
  EXPECT_EQ(step.records[0].what.site, "decoder.layers.0.qkv");
}

TEST(RulesFile, FaultsAreNamedWithTheirPlace) {
  EXPECT_EQ(rules_error(kFusedQkv), "");
  EXPECT_THAT(rules_error("{\"rules\": ["),
              AllOf(HasSubstr("names.json"), HasSubstr("at byte 12")));
  EXPECT_THAT(rules_error("[]"), HasSubstr("at the top: must be an object"));
  EXPECT_THAT(rules_error("{}"), HasSubstr("\"rules\" is missing"));
  EXPECT_THAT(rules_error(R"({"rules": 3})"), HasSubstr("at /rules: must be a list"));
  EXPECT_THAT(rules_error(R"({"rules": [{"site": "a"}]})"),
              HasSubstr("at /rules/0: \"to_site\" is missing"));
  EXPECT_THAT(rules_error(R"({"rules": [{"site": "a", "to_site": "b", "sites": 1}]})"),
              HasSubstr("at /rules/0: unknown key \"sites\""));
  EXPECT_THAT(rules_error(R"({"rules": [{"site": 4, "to_site": "b"}]})"),
              HasSubstr("at /rules/0/site: must be text"));
  EXPECT_THAT(rules_error(R"({"rules": [{"site": "a.*", "to_site": "b.$2"}]})"),
              HasSubstr("at /rules/0/to_site: no star number 2"));
  EXPECT_THAT(rules_error(R"({"rules": [{"site": "a", "to_site": "b", "to_shape": [3]}]})"),
              HasSubstr("at /rules/0: \"to_shape\" needs \"moves\""));
  EXPECT_THAT(rules_error(R"({"rules": [{"site": "a", "to_site": "b",
                              "moves": [{"from": [0], "to": [0], "extent": [-1]}]}]})"),
              HasSubstr("at /rules/0/moves/0/extent/0: must be a whole number from 0"));
  EXPECT_THAT(rules_error(R"({"rules": [{"site": "a", "to_site": "b",
                              "moves": [{"from": [0], "to": [0, 0], "extent": [1]}]}]})"),
              HasSubstr("same number of dimensions"));
  EXPECT_THAT(error_text([] { read_rules_file("/nonexistent/names.json"); }),
              HasSubstr("cannot open rules file /nonexistent/names.json"));
}

}  // namespace
}  // namespace nanhunt::trace
