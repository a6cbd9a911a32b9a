// SPDX-License-Identifier: Apache-2.0
// Which files make up a checkpoint, and folders that contradict themselves.
#include "checkpoint/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/checkpoint/small_checkpoint.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::checkpoint {
namespace {

using test::Draft;
using test::error_text;
using test::write_text;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

void write_index(const std::filesystem::path& path,
                 const std::map<std::string, std::string>& file_of) {
  write_text(path,
             nlohmann::json{{"metadata", {{"total_size", 1}}}, {"weight_map", file_of}}.dump());
}

// Two files and their index.
class Indexed : public testing::Test {
 protected:
  Indexed() {
    Draft().random("a.weight", {4, 4}, 1).write(folder_ / "model-00001-of-00002.safetensors");
    Draft().random("b.weight", {4, 4}, 2).write(folder_ / "model-00002-of-00002.safetensors");
    write_index(index_, map_);
  }

  std::string fault() const {
    return error_text([&] { open_checkpoint(folder_.path()); });
  }

  ScratchFolder folder_;
  const std::filesystem::path index_ = folder_ / "model.safetensors.index.json";
  std::map<std::string, std::string> map_ = {{"a.weight", "model-00001-of-00002.safetensors"},
                                             {"b.weight", "model-00002-of-00002.safetensors"}};
};

TEST_F(Indexed, IsOneUnit) {
  const Checkpoint checkpoint = open_checkpoint(folder_.path());
  ASSERT_EQ(checkpoint.files.size(), 2u);
  EXPECT_EQ(checkpoint.units, 1);
  EXPECT_EQ(checkpoint.files[0].unit, checkpoint.files[1].unit);
  EXPECT_THAT(checkpoint.not_named, ElementsAre());
}

TEST_F(Indexed, MissingFileIsNamed) {
  std::filesystem::remove(folder_ / "model-00002-of-00002.safetensors");
  EXPECT_THAT(fault(), AllOf(HasSubstr("index.json: tensor b.weight is in model-00002"),
                             HasSubstr("that file is missing")));
}

TEST_F(Indexed, IndexAloneIsACheckpointWithMissingFiles) {
  std::filesystem::remove(folder_ / "model-00001-of-00002.safetensors");
  std::filesystem::remove(folder_ / "model-00002-of-00002.safetensors");
  EXPECT_TRUE(holds_checkpoint(folder_.path()));
  EXPECT_THAT(fault(), HasSubstr("that file is missing"));
}

TEST_F(Indexed, MissingTensorIsNamed) {
  map_["c.weight"] = map_["b.weight"];
  write_index(index_, map_);
  EXPECT_THAT(fault(), HasSubstr("tensor c.weight should be in model-00002-of-00002.safetensors"));
}

TEST_F(Indexed, TensorThatTheIndexLacksIsNamed) {
  map_.erase("b.weight");
  map_["a.bias"] = "model-00002-of-00002.safetensors";
  write_index(index_, map_);
  EXPECT_THAT(fault(),
              HasSubstr("tensor b.weight: the index model.safetensors.index.json does not"));
}

TEST_F(Indexed, TensorInAnotherFileIsNamed) {
  std::swap(map_["a.weight"], map_["b.weight"]);
  write_index(index_, map_);
  EXPECT_THAT(fault(),
              HasSubstr("tensor a.weight: the index model.safetensors.index.json says that "
                        "it is in model-00002-of-00002.safetensors"));
}

TEST_F(Indexed, FileOfAnOlderSaveIsNamed) {
  Draft().random("c.weight", {4, 4}, 3).write(folder_ / "model-00003-of-00003.safetensors");
  EXPECT_THAT(fault(), AllOf(HasSubstr("model-00003-of-00003.safetensors: the index"),
                             HasSubstr("does not name this file")));
}

TEST_F(Indexed, AnotherModelBesideItIsReadAndTold) {
  Draft().random("a.weight", {4, 4}, 4).write(folder_ / "adapter_model.safetensors");
  const Checkpoint checkpoint = open_checkpoint(folder_.path());
  EXPECT_EQ(checkpoint.units, 2);
  EXPECT_THAT(checkpoint.not_named, ElementsAre("adapter_model.safetensors"));
}

TEST_F(Indexed, BadIndicesAreNamed) {
  write_text(index_, "{");
  EXPECT_THAT(fault(), HasSubstr("index.json: no valid JSON"));
  write_text(index_, R"({"weights": {}})");
  EXPECT_THAT(fault(), HasSubstr("an object \"weight_map\" is missing"));
  write_text(index_, R"({"weight_map": {"a.weight": 1}})");
  EXPECT_THAT(fault(), HasSubstr("tensor a.weight: its file is no text"));
  write_text(index_, R"({"weight_map": {"a.weight": "../model-00001-of-00002.safetensors"}})");
  EXPECT_THAT(fault(), HasSubstr("is no name of a file beside the index"));
}

TEST(Layout, CountedFilesAreOneUnit) {
  const ScratchFolder folder;
  for (const char* number : {"1", "2", "3"}) {
    Draft()
        .random(std::string("t") + number, {4, 4}, 1)
        .write(folder / ("model-0000" + std::string(number) + "-of-00003.safetensors"));
  }
  EXPECT_EQ(open_checkpoint(folder.path()).units, 1);
  std::filesystem::remove(folder / "model-00002-of-00003.safetensors");
  EXPECT_THAT(error_text([&] { open_checkpoint(folder.path()); }),
              HasSubstr("model-*-of-00003.safetensors: 2 files are there of 3"));
}

TEST(Layout, CountedFilesWithTheSameNamesAreRanks) {
  const ScratchFolder folder;
  for (const char* rank : {"0", "1"}) {
    Draft()
        .random("w", {4, 4}, 1)
        .write(folder / ("rank-" + std::string(rank) + "-of-2.safetensors"));
  }
  EXPECT_EQ(open_checkpoint(folder.path()).units, 2);
}

TEST(Layout, FilesByRankAreInOrderOfTheirNumbers) {
  const ScratchFolder folder;
  for (const char* rank : {"10", "2", "1"}) {
    Draft().random("w", {4, 4}, 1).write(folder / ("rank_" + std::string(rank)) / "m.safetensors");
  }
  const Checkpoint checkpoint = open_checkpoint(folder.path());
  ASSERT_EQ(checkpoint.files.size(), 3u);
  EXPECT_EQ(checkpoint.files[0].name, "rank_1/m.safetensors");
  EXPECT_EQ(checkpoint.files[2].name, "rank_10/m.safetensors");
  EXPECT_EQ(checkpoint.files[2].shape, "rank_#/m.safetensors");
  EXPECT_EQ(checkpoint.units, 3);
}

TEST(Layout, PickleFilesAreNamedAndNotOpened) {
  const ScratchFolder folder;
  Draft().random("w", {4, 4}, 1).write(folder / "model.safetensors");
  write_text(folder / "optimizer.pt", "no pickle at all");
  write_text(folder / "training_args.bin", "");
  std::filesystem::permissions(folder / "optimizer.pt", std::filesystem::perms::none);
  EXPECT_THAT(open_checkpoint(folder.path()).not_read,
              ElementsAre("optimizer.pt", "training_args.bin"));
}

TEST(Layout, SeveralCheckpointsAreRefused) {
  const ScratchFolder folder;
  Draft().random("w", {4, 4}, 1).write(folder / "checkpoint-500/model.safetensors");
  EXPECT_EQ(open_checkpoint(folder.path()).files.size(), 1u);
  Draft().random("w", {4, 4}, 2).write(folder / "checkpoint-1000/model.safetensors");
  EXPECT_THAT(error_text([&] { open_checkpoint(folder.path()); }, trace::ErrorKind::kUsage),
              HasSubstr("holds several checkpoints (checkpoint-1000, checkpoint-500): name one"));
}

TEST(Layout, WhatIsNoCheckpointIsTold) {
  const ScratchFolder folder;
  EXPECT_THAT(why_no_checkpoint(folder / "none"), HasSubstr("none: no such file or folder"));
  EXPECT_FALSE(holds_checkpoint(folder.path()));
  EXPECT_THAT(why_no_checkpoint(folder.path()),
              HasSubstr("neither a trace (step-*/rank-*.h5) nor a checkpoint (*.safetensors)"));
  write_text(folder / "pytorch_model.bin", "");
  EXPECT_THAT(why_no_checkpoint(folder.path()),
              HasSubstr("pickle files such as pytorch_model.bin"));
  EXPECT_FALSE(holds_checkpoint(folder / "pytorch_model.bin"));
}

}  // namespace
}  // namespace nanhunt::checkpoint
