// SPDX-License-Identifier: Apache-2.0
// Capsules of the bundled subject: a run that goes on from one is the straight run, in the same
// layout bit by bit, in another from the same logical state; and what is left out is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <span>

#include "capsule/load.h"
#include "tests/cases/mini_run.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::mini {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kShape = " --layers=2 --hidden=32 --heads=4 --ffn=64 --sequence=16";

MiniResult run(const std::string& arguments, const fs::path& trace, int steps = 4) {
  return run_mini({kShape + (" " + arguments) + " --steps=" + std::to_string(steps)}, trace);
}

std::string writing(const fs::path& folder) {
  return " --capsule-every=2 --capsules=" + folder.string();
}
std::string resuming(const fs::path& folder, int step) {
  return " --resume=" + folder.string() + " --resume-step=" + std::to_string(step);
}

// Records of `a` from `step` on whose bits are not those of `b`, or that `b` lacks.
std::vector<std::string> other_bits(const fs::path& a, const fs::path& b, int64_t step) {
  const trace::TraceReader mine(a), theirs(b);
  std::vector<std::string> differing;
  for (const int64_t number : mine.steps()) {
    if (number < step) continue;
    const trace::Step one = mine.read_step(number), other = theirs.read_step(number);
    for (const trace::Record& record : one.records) {
      const int at = other.find(record.where.rank, record.where.sequence);
      const bool equal = at >= 0 && other.records[static_cast<size_t>(at)].what == record.what &&
                         other.records[static_cast<size_t>(at)].raw_digest == record.raw_digest;
      if (!equal) differing.push_back(trace::describe(record.what));
    }
  }
  return differing;
}

// The run number alone tells the writers apart.
std::vector<std::string> other_state(const fs::path& a, const fs::path& b, int64_t step) {
  auto differing = other_bits(a, b, step);
  std::erase_if(differing, [](const auto& what) { return what.find(" capsule ") != what.npos; });
  return differing;
}

class Resume : public testing::TestWithParam<const char*> {
 protected:
  ScratchFolder folder_;
  const fs::path straight_ = folder_.path() / "straight", resumed_ = folder_.path() / "resumed",
                 capsules_ = folder_.path() / "capsules", later_ = folder_.path() / "later";

  MiniResult go_straight(const std::string& more = "") {
    return run(std::string(GetParam()) + more + writing(capsules_), straight_);
  }
  MiniResult go_on(const std::string& more = "") {
    return run(GetParam() + more + resuming(capsules_, 2) + writing(later_), resumed_);
  }
};

TEST_P(Resume, IsTheStraightRunBitByBit) {
  ASSERT_EQ(go_straight().status, 0);
  const MiniResult resumed = go_on();
  ASSERT_EQ(resumed.status, 0) << resumed.output;
  EXPECT_THAT(resumed.output, Not(HasSubstr("step 1 ")));
  EXPECT_THAT(resumed.output, HasSubstr("step 2 "));
  EXPECT_THAT(other_bits(resumed_, straight_, 2), IsEmpty());
  EXPECT_THAT(other_state(later_, capsules_, 4), IsEmpty());
}

TEST_P(Resume, WithoutMomentsItIsAnotherRun) {
  ASSERT_EQ(go_straight(" --capsule-leave-out=moments").status, 0);
  ASSERT_EQ(go_on(" --resume-rebuild=on").status, 0);
  EXPECT_THAT(other_bits(resumed_, straight_, 2), Not(IsEmpty()));
  EXPECT_THAT(other_state(later_, capsules_, 4), Not(IsEmpty()));
}

INSTANTIATE_TEST_SUITE_P(Configurations, Resume,
                         testing::Values("--tp=2 --dp=2", "--tp=2 --dp=2 --fp8=on",
                                         "--tp=2 --masters=off",
                                         "--tp=2 --dp=2 --sp=on --dtype=fp32 --dropout=0.1",
                                         "--dp=2 --microbatches=2 --ranks=processes "
                                         "--overlap-grad-reduce=on --fused-adamw=on"));

// Whether a record of that role is there, in any step.
bool holds_role(const fs::path& folder, const std::string& role) {
  const trace::TraceReader reader(folder);
  for (const int64_t number : reader.steps()) {
    for (const trace::Record& record : reader.read_step(number).records)
      if (record.what.role == role) return true;
  }
  return false;
}

TEST(Masters, AreRecordedAndSavedWhereTheRunHasThem) {
  for (const bool masters : {true, false}) {
    const ScratchFolder folder;
    const fs::path trace = folder.path() / "trace", capsules = folder.path() / "capsules";
    const std::string option = masters ? "--masters=on" : "--masters=off";
    ASSERT_EQ(run(option + writing(capsules), trace, 2).status, 0);
    for (const fs::path& each : {trace, capsules}) {
      EXPECT_EQ(holds_role(each, "master"), masters) << each;
      EXPECT_TRUE(holds_role(each, "exp_avg"));
    }
  }
}

TEST(Masters, FusedAdamwNeedsThem) {
  const ScratchFolder folder;
  const MiniResult refused = run("--masters=off --fused-adamw=on", folder.path() / "trace", 1);
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.output, HasSubstr("--fused-adamw=on needs --masters=on"));
}

struct LeftOut {
  const char* kind;
  const char* named;
};

void PrintTo(const LeftOut& left_out, std::ostream* out) {
  *out << left_out.kind;
}

class ResumeWithout : public testing::TestWithParam<LeftOut> {};

TEST_P(ResumeWithout, EachKindIsNamedWithTheLevelLost) {
  const ScratchFolder folder;
  const fs::path capsules = folder.path() / "capsules";
  const std::string layout = "--tp=2 --steps=2";
  ASSERT_EQ(
      run_mini({std::string("--layers=1 --hidden=16 --heads=2 --ffn=16 --sequence=8 ") + layout +
                " --capsule-leave-out='" + GetParam().kind + "'" + writing(capsules)},
               folder.path() / "straight")
          .status,
      0);
  const MiniResult resumed =
      run_mini({"--layers=1 --hidden=16 --heads=2 --ffn=16 --sequence=8 --tp=2 --steps=3" +
                resuming(capsules, 2)},
               folder.path() / "resumed");
  EXPECT_EQ(resumed.status, 3);
  EXPECT_THAT(resumed.output, HasSubstr(GetParam().named));
  const auto& facts = *std::ranges::find_if(
      capsule::all_kinds(), [](const auto& known) { return known.name == GetParam().kind; });
  EXPECT_THAT(resumed.output, HasSubstr(std::string(facts.lost)));
  EXPECT_THAT(resumed.output, HasSubstr("level " + std::string(name_of(facts.breaks))));
}

INSTANTIATE_TEST_SUITE_P(Kinds, ResumeWithout,
                         testing::Values(LeftOut{"parameters", "weight param is not in"},
                                         LeftOut{"masters", "weight master is not in"},
                                         LeftOut{"moments", "weight exp_avg is not in"},
                                         LeftOut{"optimizer step", "optimizer step is not in"},
                                         LeftOut{"parameter groups",
                                                 "optimizer.groups.0 lr is not"},
                                         LeftOut{"RNG counters", "rng.counter seed is not in"},
                                         LeftOut{"data cursor", "data consumed_samples is not in"},
                                         LeftOut{"next batch", "data.batch tokens is not in"}));

// All tensors of a capsule as TP1 would hold them.
std::map<std::string, std::vector<std::byte>> logical_state(const fs::path& folder, int64_t step) {
  const capsule::Capsule capsule(folder, step);
  capsule.require_whole();
  std::map<std::string, std::vector<std::byte>> all;
  for (const capsule::Entry& entry : capsule.entries()) {
    if (entry.site == capsule::kRunSite) continue;
    const auto& record = capsule.step().records[static_cast<size_t>(entry.records.front())];
    const auto& shape = record.placement->logical_shape;
    const capsule::Wanted wanted{entry.site, entry.role, record.storage, shape,
                                 std::make_shared<const trace::Placement>(
                                     trace::whole(std::vector<std::string>(shape.size()), shape))};
    const auto plan = capsule::plan_load(capsule, {wanted}, 0, false);
    EXPECT_THAT(plan.obstacles(), IsEmpty());
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    auto& bytes = all[capsule::name_of(entry)];
    bytes.resize(static_cast<size_t>(count) * trace::size_of(record.storage));
    capsule::load(capsule, wanted, plan.tensors[0], bytes);
  }
  return all;
}

class Layouts : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(Layouts, HoldTheSameLogicalState) {
  const auto [from, to] = GetParam();
  const ScratchFolder folder;
  const fs::path first = folder.path() / "first", second = folder.path() / "second",
                 back = folder.path() / "back";
  ASSERT_EQ(run(from + writing(first), folder.path() / "a").status, 0);
  const auto state = logical_state(first, 2);
  // Loaded and written again at once, before a step is made: there, and back.
  ASSERT_EQ(run(to + resuming(first, 2) + writing(second), folder.path() / "b").status, 0);
  EXPECT_EQ(logical_state(second, 2), state);
  ASSERT_EQ(run(from + resuming(second, 2) + writing(back), folder.path() / "c").status, 0);
  EXPECT_EQ(logical_state(back, 2), state);
  EXPECT_THAT(other_bits(folder.path() / "c", folder.path() / "a", 2), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Pairs, Layouts,
                         testing::Combine(testing::Values("--tp=4", "--tp=2 --dp=2", "--tp=1"),
                                          testing::Values("--tp=4", "--tp=2 --dp=2", "--tp=1")));

TEST(ResumeRefuses, AnotherText) {
  const ScratchFolder folder;
  const fs::path text = folder.path() / "text";
  std::ofstream(text) << std::string(500, 'a') + std::string(500, 'b');
  ASSERT_EQ(run("--tp=2" + writing(folder.path() / "c"), folder.path() / "a").status, 0);
  const auto resumed =
      run("--tp=2 --text=" + text.string() + resuming(folder.path() / "c", 2), folder.path() / "b");
  EXPECT_EQ(resumed.status, 3);
  EXPECT_THAT(resumed.output, HasSubstr("data.batch tokens: the run would read another batch"));
}

TEST(ResumeRefuses, AStepBeyondTheEnd) {
  const ScratchFolder folder;
  ASSERT_EQ(run("--tp=2" + writing(folder.path() / "c"), folder.path() / "a").status, 0);
  const auto resumed = run("--tp=2" + resuming(folder.path() / "c", 4), folder.path() / "b", 3);
  EXPECT_EQ(resumed.status, 2);
  EXPECT_THAT(resumed.output, HasSubstr("the capsule is of step 4, beyond --steps=3"));
}

TEST(ResumeRefuses, AnotherShape) {
  const ScratchFolder folder;
  ASSERT_EQ(run("--tp=2" + writing(folder.path() / "c"), folder.path() / "a").status, 0);
  const auto resumed =
      run("--tp=2 --vocabulary=512" + resuming(folder.path() / "c", 2), folder.path() / "b");
  EXPECT_EQ(resumed.status, 3);
  EXPECT_THAT(resumed.output,
              HasSubstr("embedding.word_embeddings.weight param is fp32 [256, 32] in the capsule"));
}

// The seed and the learning rate of the capsule hold, and the difference is said.
TEST(ResumeTakes, SettingsOfTheCapsule) {
  const ScratchFolder folder;
  ASSERT_EQ(run("--seed=7" + writing(folder.path() / "c"), folder.path() / "a").status, 0);
  const auto resumed =
      run("--seed=8 --learning-rate=0.5" + resuming(folder.path() / "c", 2), folder.path() / "b");
  ASSERT_EQ(resumed.status, 0) << resumed.output;
  EXPECT_THAT(resumed.output, HasSubstr("rng.counter seed is 7 in the capsule, not 8"));
  EXPECT_THAT(resumed.output, HasSubstr("lr is 0.001"));
  EXPECT_THAT(other_bits(folder.path() / "b", folder.path() / "a", 2), IsEmpty());
}

TEST(CapsuleRing, KeepsTheNewest) {
  const ScratchFolder folder;
  const fs::path capsules = folder.path() / "c";
  ASSERT_EQ(run("--capsule-every=1 --capsule-keep=2 --capsules=" + capsules.string(),
                folder.path() / "a", 6)
                .status,
            0);
  const trace::TraceReader reader(capsules);
  EXPECT_EQ(reader.steps(), (std::vector<int64_t>{4, 5, 6}));  // the newest, and two older ones
  EXPECT_THAT(capsule::Capsule(capsules, 4).faults(), IsEmpty());
}

}  // namespace
}  // namespace nanhunt::mini
