// SPDX-License-Identifier: Apache-2.0
// A checkpoint held against an older one of the same run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/checkpoint/small_checkpoint.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::checkpoint::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kLayers = 3;
const std::string kProjection = "model.layers.1.self_attn.k_proj.weight";
const std::string kStates = "optimizer.layers.1.k_proj.";

class Changes : public testing::Test {
 protected:
  Changes() {
    add_states(&older_, kLayers, 1, 5);
    add_states(&newer_, kLayers, 500, 9);
  }

  Report report() {
    older_.write(folder_ / "older.safetensors");
    newer_.write(folder_ / "newer.safetensors");
    return scan_with(folder_ / "newer.safetensors", folder_ / "older.safetensors");
  }
  std::vector<std::string> findings() { return told(report()); }
  // A tensor of the older checkpoint in the newer one.
  void keep(const std::string& name) {
    const DraftTensor& tensor = older_.at(name);
    newer_.add(name, tensor.dtype, tensor.shape, tensor.bytes);
  }

  ScratchFolder folder_;
  Draft older_ = healthy_model(kLayers, 1), newer_ = healthy_model(kLayers, 500);
};

TEST_F(Changes, HealthyTrainingIsClean) {
  const Report clean = report();
  EXPECT_THAT(told(clean), IsEmpty());
  EXPECT_EQ(clean.kind, compare::VerdictKind::kClean);
}

TEST_F(Changes, FrozenParameterIsSuspicious) {
  keep(kProjection);
  const Report found = report();
  EXPECT_THAT(told(found), ElementsAre("frozen " + kProjection + " suspicious"));
  EXPECT_THAT(found.findings[0].evidence, HasSubstr("13 of 14 parameters moved"));
  newer_.set(kProjection, 63, 0.125f);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Changes, FrozenMomentIsSuspicious) {
  keep(kStates + "exp_avg");
  EXPECT_THAT(findings(), ElementsAre("frozen " + kStates + "exp_avg suspicious"));
}

TEST_F(Changes, BiasesThatStayZeroAndBuffersAreNotFrozen) {
  for (Draft* draft : {&older_, &newer_}) {
    draft->filled("model.layers.0.self_attn.v_proj.bias", {8}, 0.0f);
    draft->random("model.rotary.inv_freq", {8}, 3);
    draft->add("model.position_ids", "I64", {2}, std::string(16, '\1'));
  }
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Changes, MostFrozenIsADesign) {
  for (int layer = 0; layer < kLayers; ++layer) {
    const std::string name = "model.layers." + std::to_string(layer) + ".";
    for (const char* part : {"input_layernorm.weight", "self_attn.k_proj.weight",
                             "self_attn.v_proj.weight", "self_attn.v_proj.bias"}) {
      keep(name + part);
    }
  }
  const Report clean = report();
  EXPECT_THAT(told(clean), IsEmpty());
  EXPECT_THAT(clean.coverage.notes, Contains(HasSubstr("12 of 14 parameters did not change")));
}

TEST_F(Changes, NothingMovedIsSuspicious) {
  newer_ = older_;
  const Report found = report();
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].rule, "nothing_moved");
  EXPECT_THAT(found.findings[0].evidence, HasSubstr("none of 14 parameters"));
}

TEST_F(Changes, StepThatStandsIsSuspicious) {
  newer_.floats(kStates + "step", {}, {5});
  const Report found = report();
  EXPECT_THAT(told(found), ElementsAre("step_did_not_move " + kStates + "step suspicious"));
  EXPECT_EQ(found.findings[0].first->number.text, "5");
  EXPECT_EQ(found.findings[0].other_value, "5");
  newer_.floats(kStates + "step", {}, {6});
  EXPECT_THAT(findings(), IsEmpty());
  newer_.floats(kStates + "step", {}, {4});
  EXPECT_THAT(report().findings.at(0).evidence, HasSubstr("it went back"));
}

TEST_F(Changes, MissingAndExtraTensorsAreNamed) {
  newer_.remove(kProjection).random("model.extra.weight", {8, 8}, 5);
  EXPECT_THAT(findings(), ElementsAre("missing " + kProjection + " proven",
                                      "extra model.extra.weight suspicious"));
}

// A conversion that knew a parameter's name, and one that did not.
TEST_F(Changes, StatesWithoutAParameterAreNotMissing) {
  for (const std::string role : {"exp_avg", "exp_avg_sq", "step"}) {
    newer_.copy(kStates + role, "unmapped.4." + role);
    newer_.remove(kStates + role);
  }
  const Report found = report();
  EXPECT_THAT(told(found), IsEmpty());
  EXPECT_THAT(found.coverage.notes,
              Contains(HasSubstr("6 states of the optimizer not held against")));
  newer_.remove(kProjection);
  EXPECT_THAT(findings(), Contains("missing " + kProjection + " proven"));
}

TEST_F(Changes, StatesThatCameWithTheFirstStepAreNoFinding) {
  older_ = healthy_model(kLayers, 1);
  const Report clean = report();
  EXPECT_THAT(told(clean), IsEmpty());
  EXPECT_THAT(clean.coverage.notes, Contains(HasSubstr("9 states of the optimizer")));
}

TEST_F(Changes, OtherShapeAndTypeAreProven) {
  newer_.random(kProjection, {4, 16}, 3);
  newer_.add("model.layers.2.self_attn.v_proj.bias", "BF16", {8}, std::string(16, '\1'));
  const Report found = report();
  EXPECT_THAT(told(found), ElementsAre("other_shape " + kProjection + " proven",
                                       "other_dtype model.layers.2.self_attn.v_proj.bias proven"));
  EXPECT_EQ(found.findings[0].evidence, "the older checkpoint has F32 [8, 8]");
}

TEST_F(Changes, NamesMeetThoughTheFilesWereCutInAnotherWay) {
  older_.write(folder_ / "older/model.safetensors");
  Draft first, second;
  second = newer_;
  first.random("model.embed_tokens.weight", {32, 8}, 900);
  second.remove("model.embed_tokens.weight");
  first.write(folder_ / "newer/model-00001-of-00002.safetensors");
  second.write(folder_ / "newer/model-00002-of-00002.safetensors");
  EXPECT_THAT(told(scan_with(folder_ / "newer", folder_ / "older")), IsEmpty());
}

TEST_F(Changes, RanksAreHeldAgainstTheSameRank) {
  for (const char* rank : {"0", "1"}) {
    const uint32_t seed = rank[0] == '0' ? 1 : 2;
    const std::string file = "/rank-" + std::string(rank) + ".safetensors";
    const auto one = [&](uint32_t moved) {
      Draft draft;
      for (const char* name : {"a.weight", "b.weight", "c.weight"}) {
        draft.random(name, {8, 8}, seed + static_cast<uint32_t>(name[0]) + moved);
      }
      return draft;
    };
    one(0).write(folder_.path().string() + "/older" + file);
    one(1000).write(folder_.path().string() + "/newer" + file);
  }
  EXPECT_THAT(told(scan_with(folder_ / "newer", folder_ / "older")), IsEmpty());
  fs::copy_file(folder_ / "older/rank-1.safetensors", folder_ / "newer/rank-1.safetensors",
                fs::copy_options::overwrite_existing);
  EXPECT_THAT(told(scan_with(folder_ / "newer", folder_ / "older")), IsEmpty())
      << "half of them stand: not most others moved";
}

}  // namespace
}  // namespace nanhunt::checkpoint::test
