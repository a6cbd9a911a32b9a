// SPDX-License-Identifier: Apache-2.0
#include "hooks/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "trace/error.h"

namespace nanhunt::hooks {
namespace {

LaunchedRank in(const std::map<std::string, std::string>& variables) {
  return launched_rank([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string refusal(const std::map<std::string, std::string>& variables) {
  try {
    in(variables);
  } catch (const trace::Error& error) {
    return error.what();
  }
  return "";
}

TEST(Launcher, ReadsEachLauncher) {
  EXPECT_EQ(in({}).world_size, 1);
  const LaunchedRank torchrun = in({{"RANK", "3"}, {"WORLD_SIZE", "8"}});
  EXPECT_EQ(torchrun.rank, 3);
  EXPECT_EQ(torchrun.world_size, 8);
  EXPECT_EQ(in({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}}).launcher, "srun");
  EXPECT_EQ(in({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}}).rank, 1);
}

TEST(Launcher, TorchrunInsideSrunCountsItself) {
  const std::map<std::string, std::string> both{
      {"RANK", "5"},         {"WORLD_SIZE", "8"},   {"TORCHELASTIC_RUN_ID", "x"},
      {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_STEP_ID", "0"}};
  EXPECT_EQ(in(both).rank, 5);
}

TEST(Launcher, VariablesOfABatchScriptSayNothing) {
  EXPECT_EQ(in({{"OMPI_COMM_WORLD_RANK", "1"},
                {"OMPI_COMM_WORLD_SIZE", "4"},
                {"SLURM_PROCID", "0"},
                {"SLURM_NTASKS", "1"}})
                .rank,
            1);
}

TEST(Launcher, RefusesContradictionsAndNonsense) {
  EXPECT_THAT(refusal({{"RANK", "0"},
                       {"WORLD_SIZE", "2"},
                       {"SLURM_PROCID", "1"},
                       {"SLURM_NTASKS", "2"},
                       {"SLURM_STEP_ID", "0"}}),
              testing::HasSubstr("RANK=0 WORLD_SIZE=2, but SLURM_PROCID=1 SLURM_NTASKS=2"));
  EXPECT_THAT(refusal({{"RANK", "two"}, {"WORLD_SIZE", "2"}}), testing::HasSubstr("RANK=two"));
  EXPECT_THAT(refusal({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), testing::HasSubstr("outside"));
  EXPECT_THAT(refusal({{"WORLD_SIZE", "2"}}), testing::HasSubstr("RANK is not"));
}

}  // namespace
}  // namespace nanhunt::hooks
