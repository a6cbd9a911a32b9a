// SPDX-License-Identifier: Apache-2.0
// Checkpoints of other programs at level state: against each other and against a capsule. Equal is
// told of what both have and of no more; each kind of difference is named with its file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "repro/state_report.h"
#include "tests/capsule/small_capsule.h"
#include "tests/checkpoint/small_checkpoint.h"
#include "tests/support/scratch_folder.h"
#include "trace/error.h"

namespace nanhunt::repro {
namespace {

namespace fs = std::filesystem;
using capsule::test::Layout;
using capsule::test::write_capsule;
using checkpoint::test::bytes_of;
using checkpoint::test::Draft;
using checkpoint::test::error_text;
using checkpoint::test::healthy_model;
using checkpoint::test::write_text;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kProjection = "model.layers.1.self_attn.k_proj.weight";

// The parameters of the small capsule, as one safetensors file.
Draft capsule_model() {
  Draft draft;
  for (const int layer : {0, 1}) {
    const std::string name = "decoder.layers." + std::to_string(layer) + ".mlp.linear_fc1.";
    std::vector<float> values;
    for (int64_t i = 0; i < capsule::test::kRows * capsule::test::kColumns; ++i)
      values.push_back(capsule::test::element("param", i) + 1000 * static_cast<float>(layer));
    draft.floats(name + "weight", {capsule::test::kRows, capsule::test::kColumns}, values);
  }
  return draft.floats("decoder.layers.0.mlp.linear_fc1.bias", {8}, {1, 2, 3, 4, 5, 6, 7, 8});
}

// The upper halves of FP32: truncation, which moves a value by less than two roundings.
Draft in_bf16(const Draft& draft, const std::string& name, bool round) {
  Draft other = draft;
  const auto& tensor = draft.at(name);
  std::vector<uint16_t> halves(tensor.bytes.size() / 4);
  for (size_t i = 0; i < halves.size(); ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, tensor.bytes.data() + 4 * i, 4);
    halves[i] = static_cast<uint16_t>((bits + (round ? 0x7FFFu + ((bits >> 16) & 1) : 0)) >> 16);
  }
  return other.add(name, "BF16", tensor.shape, bytes_of(halves));
}

class CheckpointState : public testing::Test {
 protected:
  LevelReport compare(const Draft& a, const Draft& b) {
    a.write(folder_ / "a/model.safetensors");
    b.write(folder_ / "b/model.safetensors");
    return compare_folders();
  }
  LevelReport compare_folders() {
    const Report report = state_and_state(open_checkpoint_state(folder_ / "a"),
                                          open_checkpoint_state(folder_ / "b"), {});
    text_ = to_text(report);
    return report.levels.front();
  }

  ScratchFolder folder_;
  std::string text_;
  const Draft healthy_ = healthy_model(3, 1);
};

TEST_F(CheckpointState, EqualIsOfTheParametersAndNoMore) {
  const LevelReport level = compare(healthy_, healthy_);
  EXPECT_EQ(level.verdict, LevelVerdict::kEqual);
  EXPECT_THAT(level.of, ElementsAre("parameters"));
  EXPECT_THAT(text_, HasSubstr("Level state: equal (of the parameters)\n"));
  EXPECT_THAT(text_, HasSubstr("not compared, neither has them: masters, moments, optimizer step"));
  EXPECT_THAT(text_,
              HasSubstr("level state is open: it breaks where one of these differs: masters"));
  EXPECT_THAT(text_, HasSubstr("level replay is open"));
  EXPECT_THAT(text_, HasSubstr("implies     what was not compared may differ"));
}

TEST_F(CheckpointState, EachKindOfDifferenceIsNamedWithItsFile) {
  const auto difference = [&](Draft other) {
    const LevelReport level = compare(healthy_, other);
    EXPECT_EQ(level.verdict, LevelVerdict::kDifferent);
    return level.evidence.size() > 1 ? level.evidence[1] : "";
  };
  EXPECT_EQ(difference(Draft(healthy_).filled(kProjection, {8, 8}, 0)),
            kProjection + " param (model.safetensors) is all zero in B");
  EXPECT_EQ(difference(Draft(healthy_).copy("model.layers.2.self_attn.k_proj.weight", kProjection)),
            kProjection +
                " param (model.safetensors) holds in B what "
                "model.layers.2.self_attn.k_proj.weight param has in A");
  EXPECT_EQ(difference(Draft(healthy_).random(kProjection, {8, 4}, 3)),
            kProjection + " param (model.safetensors) is fp32 [8, 8] in A, fp32 [8, 4] in B");
  EXPECT_THAT(difference(Draft(healthy_).set(kProjection, 11, 9)),
              HasSubstr("differs in 1 of 64 elements"));
  EXPECT_THAT(difference(Draft(healthy_).remove(kProjection)),
              HasSubstr("(model.safetensors) is in A only: without it another model"));
  EXPECT_THAT(difference(Draft(healthy_).random("unknown.weight", {2, 2}, 5)),
              HasSubstr("unknown.weight param (model.safetensors) is in B only"));
  std::string bytes = healthy_.at(kProjection).bytes;
  std::memmove(bytes.data() + 4, bytes.data(), bytes.size() - 4);
  EXPECT_EQ(difference(Draft(healthy_).add(kProjection, "F32", {8, 8}, bytes)),
            kProjection + " param (model.safetensors) is shifted by one element forward in B");
}

TEST_F(CheckpointState, TypesThatDifferAreSaidWithTheirValues) {
  EXPECT_THAT(
      compare(healthy_, in_bf16(healthy_, kProjection, true)).evidence,
      Contains(kProjection + " param (model.safetensors) is fp32 [8, 8] in A, bf16 [8, 8] in "
                             "B, each value within one rounding to bf16"));
  EXPECT_THAT(compare(healthy_, in_bf16(healthy_, kProjection, false)).evidence,
              Not(Contains(HasSubstr("within one rounding"))));
  Draft ones = healthy_, other = healthy_;
  ones.filled(kProjection, {8, 8}, 0.5f);
  other.add(kProjection, "BF16", {8, 8}, bytes_of(std::vector<uint16_t>(64, 0x3F00)));
  EXPECT_THAT(compare(ones, other).evidence, Contains(HasSubstr("with equal values")));
}

TEST_F(CheckpointState, ACheckpointAgainstACapsuleIsComparedByItsParameters) {
  write_capsule(folder_ / "capsule", Layout{.tp = 2, .dp = 2}, 4);
  Draft draft = capsule_model();
  const auto level_of = [&] {
    draft.write(folder_ / "a/model.safetensors");
    return state_and_state(open_capsule_state(folder_ / "capsule", -1),
                           open_checkpoint_state(folder_ / "a"), {})
        .levels.front();
  };
  const LevelReport equal = level_of();
  EXPECT_EQ(equal.verdict, LevelVerdict::kEqual);
  EXPECT_THAT(equal.of, ElementsAre("parameters"));
  EXPECT_THAT(equal.evidence, Contains("3 of 3 tensors are equal"));
  EXPECT_THAT(equal.evidence, Contains(HasSubstr("B does not have them: masters, moments")));
  draft.set("decoder.layers.1.mlp.linear_fc1.weight", 7, -4);
  EXPECT_EQ(level_of().verdict, LevelVerdict::kDifferent);
}

TEST_F(CheckpointState, TheStepOfATrainerIsHeldAgainstThatOfACapsule) {
  write_capsule(folder_ / "capsule", Layout{}, 4, [](trace::Segment& segment) {
    segment.records[capsule::test::index_of(segment, "data", "consumed_samples")].what.role =
        "global_step";
  });
  capsule_model().write(folder_ / "a/model.safetensors");
  const auto level_at = [&](const std::string& step) {
    write_text(folder_ / "a/trainer_state.json", R"({"global_step": )" + step + "}");
    return state_and_state(open_capsule_state(folder_ / "capsule", -1),
                           open_checkpoint_state(folder_ / "a"), {})
        .levels.front();
  };
  const LevelReport equal = level_at("16");
  EXPECT_EQ(equal.verdict, LevelVerdict::kEqual);
  EXPECT_THAT(equal.of, ElementsAre("parameters", "data cursor"));
  EXPECT_THAT(level_at("17").evidence,
              Contains("data global_step (trainer_state.json) is 16 in A, 17 in B"));
}

TEST_F(CheckpointState, StatesOfAnOptimizerHaveTheirRoles) {
  Draft a = healthy_;
  a.random("optimizer.state." + kProjection + ".exp_avg", {8, 8}, 3);
  const LevelReport level = compare(a, a);
  EXPECT_THAT(level.of, ElementsAre("parameters", "moments"));
  Draft b = a;
  b.filled("optimizer.state." + kProjection + ".exp_avg", {8, 8}, 0);
  EXPECT_THAT(compare(a, b).evidence,
              Contains(kProjection + " exp_avg (model.safetensors) is all zero in B"));
}

TEST_F(CheckpointState, WhatIsPickleIsNamedWithTheWayToReadIt) {
  write_text(folder_ / "b/optimizer.pt", "");
  const LevelReport level = compare(healthy_, healthy_);
  EXPECT_THAT(level.evidence,
              Contains("not read here, B: optimizer.pt (pickle); convert with: python -m "
                       "nanhunt.checkpoint " +
                       (folder_ / "b").string() + " OUT, and compare OUT"));
}

TEST_F(CheckpointState, TheTrainersStateSaysStepEpochAndLosses) {
  const std::string history =
      R"(, "log_history": [{"step": 5, "loss": 2.5}, {"step": 10, "loss": )";
  write_text(folder_ / "a/trainer_state.json",
             R"({"global_step": 10, "epoch": 1.0)" + history + "2.25}]}");
  write_text(folder_ / "b/trainer_state.json",
             R"({"global_step": 10, "epoch": 1.0)" + history + "2.25}]}");
  EXPECT_THAT(
      compare(healthy_, healthy_).evidence,
      testing::IsSupersetOf(
          {std::string("trainer_state.json of A: step 10, epoch 1, last loss 2.25 at step 10"),
           std::string("loss histories agree in all 2 steps that both have")}));
  write_text(folder_ / "b/trainer_state.json",
             R"({"global_step": 15, "epoch": 1.0)" + history + "NaN}]}");
  const LevelReport level = compare(healthy_, healthy_);
  EXPECT_EQ(level.verdict, LevelVerdict::kDifferent);
  EXPECT_THAT(level.evidence,
              Contains("data global_step (trainer_state.json) is 10 in A, 15 in B"));
  EXPECT_THAT(level.evidence, Contains("loss histories part at step 10: 2.25 in A, nan in B"));
}

TEST_F(CheckpointState, ConfigurationsThatDifferAreSaid) {
  write_text(folder_ / "a/config.json", R"({"rope_theta": 10000, "torch_dtype": "float32"})");
  write_text(folder_ / "b/config.json", R"({"rope_theta": 500000, "torch_dtype": "bfloat16"})");
  EXPECT_THAT(
      compare(healthy_, healthy_).evidence,
      Contains("config.json differs, which is no state and makes other steps: rope_theta is "
               "10000 in A, 500000 in B"));
  write_text(folder_ / "b/config.json", R"({"rope_theta": 10000})");
  EXPECT_THAT(compare(healthy_, healthy_).evidence, Not(Contains(HasSubstr("config.json"))));
}

TEST_F(CheckpointState, FilesThatHoldOneNameAreNotGuessedAt) {
  healthy_.write(folder_ / "a/rank-0.safetensors");
  healthy_.write(folder_ / "a/rank-1.safetensors");
  healthy_.write(folder_ / "b/model.safetensors");
  EXPECT_EQ(compare_folders().verdict, LevelVerdict::kEqual);
  Draft(healthy_).set(kProjection, 1, 5).write(folder_ / "a/rank-1.safetensors");
  const std::string error = error_text([&] { open_checkpoint_state(folder_ / "a"); });
  EXPECT_THAT(error, HasSubstr("rank-1.safetensors: tensor " + kProjection));
  EXPECT_THAT(error, HasSubstr("is in rank-0.safetensors, too, with other values"));
}

TEST_F(CheckpointState, HalfACheckpointIsNotCompared) {
  const std::string whole = healthy_.bytes();
  healthy_.write(folder_ / "a/model.safetensors");
  write_text(folder_ / "b/model.safetensors", whole.substr(0, whole.size() - 4));
  EXPECT_THAT(error_text([&] { compare_folders(); }), HasSubstr("model.safetensors: tensor "));
  write_text(folder_ / "b/model.safetensors", whole);
  write_text(folder_ / "b/model.safetensors.index.json",
             R"({"weight_map": {"nowhere.weight": "model.safetensors"}})");
  EXPECT_THAT(error_text([&] { compare_folders(); }), HasSubstr("model.safetensors"));
}

}  // namespace
}  // namespace nanhunt::repro
