// SPDX-License-Identifier: Apache-2.0
// The runner with a shell script as subject: what is run again and what is not.
#include "ablate/runner.h"

#include <gtest/gtest.h>
#include <sys/mount.h>

#include <fstream>
#include <thread>

#include "tests/ablate/test_subject.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::ablate {
namespace {

namespace fs = std::filesystem;

// Makes its trace folder, notes that it ran, and copies its capture plan.
constexpr const char* kScript = R"(#!/bin/sh
mkdir -p "$2"
echo run >> "$COUNT"
cp "$NANHUNT_CAPTURE" "$2/seen.json"
echo "the complaint" >&2
exit $1
)";

class RunnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder_ / "job.sh") << kScript;
    subject_ = parse_subject("command = sh " + (folder_ / "job.sh").string() +
                                 " {toggles} {trace}\n[toggle.status]\nvalues = 0 2\n"
                                 "reference = 0\narg = {value}\n",
                             "job.subject");
  }

  Runner make() {
    return Runner(children_, subject_, "build", folder_ / "work",
                  {{"COUNT", (folder_ / "count").string()}}, {});
  }
  RunRequest request(const std::string& status) {
    RunRequest request;
    request.settings = {{"status", status}};
    return request;
  }
  int count() {
    std::ifstream stream(folder_ / "count");
    int lines = 0;
    for (std::string line; std::getline(stream, line);) ++lines;
    return lines;
  }

  const ScratchFolder folder_;
  ChildRunner children_;
  Subject subject_;
};

TEST_F(RunnerTest, TellsTheChildItsPlan) {
  Runner runner = make();
  RunRequest asked = request("0");
  asked.plan.level = trace::Level::kFull;
  asked.plan.full_sites = {"loss"};
  const ablate::Run run = runner.run(asked);
  EXPECT_TRUE(run.ended_well());
  std::ifstream stream(run.trace / "seen.json");
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  const trace::CapturePlan seen = trace::parse_capture_plan(text);
  EXPECT_EQ(seen.out, run.trace);
  EXPECT_EQ(seen.level, trace::Level::kFull);
  EXPECT_EQ(seen.full_sites, std::vector<std::string>{"loss"});
}

TEST_F(RunnerTest, DoesNotRepeatARunEvenAfterARestart) {
  {
    Runner runner = make();
    EXPECT_FALSE(runner.run(request("0")).cached);
    runner.run(request("0"));
  }
  Runner again = make();
  const ablate::Run run = again.run(request("0"));
  EXPECT_TRUE(run.cached);
  EXPECT_EQ(count(), 1);
  again.run(request("2"));
  EXPECT_EQ(count(), 2);
}

TEST_F(RunnerTest, RepeatsWhenTheProgramOrThePlanChanged) {
  make().run(request("0"));
  RunRequest other = request("0");
  other.plan.level = trace::Level::kFull;
  make().run(other);
  EXPECT_EQ(count(), 2);
  std::ofstream(folder_ / "job.sh", std::ios::app) << "# rebuilt\n";
  make().run(request("0"));
  EXPECT_EQ(count(), 3);
}

TEST_F(RunnerTest, RunsEqualRequestsOnceAtATime) {
  Runner runner = make();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { runner.run(request("0")); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count(), 1);
}

TEST_F(RunnerTest, PassesOnTheComplaint) {
  Runner runner = make();
  const ablate::Run run = runner.run(request("2"));
  EXPECT_FALSE(run.ended_well());
  EXPECT_EQ(run.complaint(), "exit status 2: the complaint");
}

// The child's own words are lost where its trace is.
TEST_F(RunnerTest, FullDiskIsToldWithoutAWordOfTheChild) {
  const fs::path disk = folder_ / "disk";
  fs::create_directories(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k") != 0)
    GTEST_SKIP() << "only root may mount a small disk";
  ablate::Run run;
  run.folder = disk;
  run.outcome.end = ChildEnd::kExited;
  const std::string told = run.capture_failure(disk / "trace");
  run.outcome.status = 1;
  const std::string told_of_a_failed_run = run.capture_failure(disk / "trace");
  ::umount2(disk.c_str(), MNT_DETACH);
  EXPECT_NE(told.find("No space left on device"), std::string::npos) << told;
  EXPECT_EQ(told_of_a_failed_run, "") << "its status speaks for itself";
  run.folder = folder_.path();
  run.outcome.status = 0;
  EXPECT_EQ(run.capture_failure(folder_ / "trace"), "") << "there is room";
}

}  // namespace
}  // namespace nanhunt::ablate
