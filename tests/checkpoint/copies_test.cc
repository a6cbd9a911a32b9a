// SPDX-License-Identifier: Apache-2.0
// One tensor under two names or in several files: copies by rank, slices, and tied parameters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/checkpoint/small_checkpoint.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::checkpoint::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kNorm = "decoder.layers.0.input_layernorm.weight";
const std::string kSlice = "decoder.layers.0.mlp.linear_fc1.weight";

// Files by rank: a norm that all hold, and a slice of a weight for each.
class Ranks : public testing::Test {
 protected:
  explicit Ranks(int ranks = 4) : drafts_(static_cast<size_t>(ranks)) {
    for (size_t rank = 0; rank < drafts_.size(); ++rank) {
      drafts_[rank].random(kNorm, {32}, 1);
      drafts_[rank].random(kSlice, {8, 8}, 100 + static_cast<uint32_t>(rank));
    }
  }

  Report report(const std::string& rules = "") {
    const std::string stem = folder_ / "ranks/rank-";
    for (size_t rank = 0; rank < drafts_.size(); ++rank) {
      drafts_[rank].write(stem + std::to_string(rank) + ".safetensors");
    }
    if (rules.empty()) return scan_with(folder_ / "ranks");
    write_text(folder_ / "some.json", rules);
    return scan_with(folder_ / "ranks", "", folder_ / "some.json");
  }

  ScratchFolder folder_;
  std::vector<Draft> drafts_;
};

const std::string kRules = R"({"name": "tp", "replicated": ["**.input_layernorm.weight"]})";

TEST_F(Ranks, EqualCopiesAndSlicesAreClean) {
  for (const std::string& rules : {std::string(), kRules}) {
    const Report clean = report(rules);
    EXPECT_THAT(told(clean), IsEmpty());
    EXPECT_THAT(clean.coverage.notes,
                ElementsAre("1 tensor in several files: equal",
                            HasSubstr("1 tensor in several files: different, and nothing says "
                                      "whether they are copies or slices (" +
                                      kSlice + ")")));
  }
}

TEST_F(Ranks, OneCopyOffTheMajorityIsSuspicious) {
  drafts_[2].set(kNorm, 17, 5.0f);
  const Report found = report();
  EXPECT_THAT(told(found), ElementsAre("replica_mismatch " + kNorm + " suspicious"));
  const Finding& finding = found.findings[0];
  EXPECT_EQ(finding.file, "rank-2.safetensors");
  EXPECT_EQ(finding.affected, 1);
  EXPECT_EQ(finding.first->index, 17);
  EXPECT_EQ(finding.first->number.text, "5");
  EXPECT_EQ(finding.peers[0].file, "rank-0.safetensors");
  EXPECT_THAT(finding.evidence, HasSubstr("3 of 4 files agree"));
}

TEST_F(Ranks, OneCopyOffTheMajorityIsProvenWhereTheRulesSayCopies) {
  drafts_[2].set(kNorm, 17, 5.0f);
  EXPECT_THAT(told(report(kRules)), ElementsAre("replica_mismatch " + kNorm + " proven"));
}

TEST_F(Ranks, WithoutAMajorityOnlyTheRulesTell) {
  for (size_t rank : {size_t{2}, size_t{3}}) drafts_[rank].set(kNorm, 17, 5.0f);
  EXPECT_THAT(told(report()), IsEmpty()) << "two and two: tensor times data parallel looks so";
  const Report found = report(kRules);
  ASSERT_THAT(told(found), ElementsAre("replica_mismatch " + kNorm + " proven"));
  EXPECT_THAT(found.findings[0].evidence, HasSubstr("which of them is right nothing says"));
}

TEST_F(Ranks, EqualConstantsSayNothingOfOthers) {
  // Slices of a padded embedding: three are padding alone.
  for (size_t rank = 1; rank < 4; ++rank) drafts_[rank].filled(kNorm, {32}, 0.0f);
  EXPECT_THAT(told(report()), IsEmpty());
}

TEST_F(Ranks, CountersThatAreEqualByChanceSayNothing) {
  for (size_t rank = 0; rank < 4; ++rank) {
    drafts_[rank].floats("amax", {2}, {1, rank == 0 ? 4.0f : 2.0f});
    drafts_[rank].add("rng", "U8", {32}, std::string(31, 'a') + (rank == 0 ? "b" : "c"));
  }
  EXPECT_THAT(told(report()), IsEmpty());
}

TEST_F(Ranks, ShapesOfCopiesCount) {
  drafts_[1].random(kNorm, {16}, 1);
  EXPECT_THAT(told(report()), ElementsAre("replica_mismatch " + kNorm + " suspicious"));
  drafts_[1].random(kNorm, {32}, 1);
  drafts_[1].random(kSlice, {4, 8}, 3);
  EXPECT_THAT(told(report()), IsEmpty()) << "slices may be uneven";
}

TEST_F(Ranks, StagesAreHeldApartByTheRules) {
  // Two stages of a pipeline, each counting its layers from 0.
  for (size_t rank = 0; rank < 4; ++rank) {
    drafts_[rank].random(kNorm, {32}, 1 + static_cast<uint32_t>(rank % 2));
    drafts_[rank].write(
        folder_ / "stages" /
        ("mp_rank_0" + std::to_string(rank / 2) + "_00" + std::to_string(rank % 2)) /
        "model.safetensors");
  }
  const auto with = [&](const std::string& separate) {
    write_text(folder_ / "some.json",
               R"({"replicated": ["**.input_layernorm.weight"])" + separate + "}");
    return scan_with(folder_ / "stages", "", folder_ / "some.json");
  };
  EXPECT_THAT(told(with("")), ElementsAre("replica_mismatch " + kNorm + " proven"));
  EXPECT_THAT(told(with(R"json(, "separate": "mp_rank_[0-9]+(.*)")json")), IsEmpty());
  const Report apart = with(R"json(, "separate": "stage_([0-9]+)")json");
  EXPECT_THAT(told(apart), IsEmpty());
  EXPECT_THAT(apart.coverage.notes, ElementsAre(HasSubstr("8 tensors in files that \"separate\"")));
}

TEST_F(Ranks, ModelsBesideEachOtherAreNoCopies) {
  // text_encoder and text_encoder_2 of a pipeline of diffusers, and a third.
  for (const char* name : {"unet", "text_encoder", "text_encoder_2"}) {
    Draft draft;
    draft.random("w", {32}, std::string(name) == "unet" ? 2 : 1);
    draft.write(folder_ / "pipeline" / name / "model.safetensors");
  }
  const Report clean = scan_with(folder_ / "pipeline");
  EXPECT_THAT(told(clean), IsEmpty());
  EXPECT_THAT(clean.coverage.notes, IsEmpty());
}

TEST_F(Ranks, AcceptedFindingsAreCounted) {
  drafts_[2].set(kNorm, 17, 5.0f);
  const Report accepted = report(R"({"accept": {"replica_mismatch": ["**.input_layernorm.*"]}})");
  EXPECT_THAT(told(accepted), IsEmpty());
  EXPECT_EQ(accepted.coverage.accepted, 1);
  EXPECT_EQ(told(report(R"({"accept": {"all_zero": ["**"]}})")).size(), 1u);
}

class Tied : public testing::Test {
 protected:
  Report report(const std::string& rules = "") {
    draft_.write(folder_ / "model.safetensors");
    if (rules.empty()) return scan_with(folder_.path());
    write_text(folder_ / "rules.json", rules);
    return scan_with(folder_.path(), "", folder_ / "rules.json");
  }

  const std::string told_ = "tied_mismatch lm_head.weight proven";
  ScratchFolder folder_;
  Draft draft_ = healthy_model(2, 1);
};

TEST_F(Tied, NothingIsGuessed) {
  EXPECT_THAT(told(report()), IsEmpty());
}

TEST_F(Tied, ByRules) {
  const std::string rules = R"({"tied": [["lm_head.weight", "model.embed_tokens.weight"]]})";
  const Report found = report(rules);
  EXPECT_THAT(told(found), ElementsAre(told_));
  EXPECT_EQ(found.findings[0].peers[0].tensor, "model.embed_tokens.weight");
  draft_.copy("model.embed_tokens.weight", "lm_head.weight");
  EXPECT_THAT(told(report(rules)), IsEmpty());
  draft_.random("lm_head.weight", {16, 8}, 4);
  EXPECT_THAT(report(rules).findings.at(0).evidence, HasSubstr("F32 [32, 8]"));
}

TEST_F(Tied, ByMetadata) {
  draft_.metadata["lm_head.weight"] = "model.embed_tokens.weight";
  EXPECT_THAT(told(report()), ElementsAre(told_));
  draft_.copy("model.embed_tokens.weight", "lm_head.weight");
  EXPECT_THAT(told(report()), IsEmpty());
  draft_.remove("lm_head.weight");
  EXPECT_THAT(told(report()), IsEmpty()) << "left out, as save_model does";
}

TEST_F(Tied, ByTheConfigBesideIt) {
  write_text(folder_ / "config.json", R"({"tie_word_embeddings": true})");
  EXPECT_THAT(told(report()), ElementsAre(told_));
  draft_.copy("model.embed_tokens.weight", "lm_head.weight");
  EXPECT_THAT(told(report()), IsEmpty());
  draft_.random("lm_head.weight", {32, 8}, 6);
  write_text(folder_ / "config.json", R"({"tie_word_embeddings": false})");
  EXPECT_THAT(told(report()), IsEmpty());
  write_text(folder_ / "config.json", "no JSON");
  EXPECT_THAT(told(report()), IsEmpty());
}

}  // namespace
}  // namespace nanhunt::checkpoint::test
