// SPDX-License-Identifier: Apache-2.0
// Capsules as they are written: whole beyond the bound of the queue, or said not to be; what a full
// disk, an earlier run and a second writer do to them.
#include "hooks/capsule_writer.h"

#include <gmock/gmock.h>

#include <thread>

#include "capsule/capsule.h"
#include "capsule/verify.h"
#include "tests/hooks/recorder_fixture.h"
#include "tests/trace/file_size_limit.h"
#include "trace/error.h"
#include "trace/step_files.h"

namespace nanhunt::hooks {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr int64_t kElements = 16 << 10;
constexpr int kTensors = 24;

// One rank's state: tensors of 64 KiB that all ranks have, each another.
void add_tensors(RankCapsule& capsule) {
  for (int i = 0; i < kTensors; ++i) {
    const std::vector<float> values(kElements, static_cast<float>(i + 1));
    capsule.add("layers." + std::to_string(i) + ".weight", "param",
                trace::contiguous_view(values.data(), trace::DType::kFloat32, {kElements}),
                std::make_shared<const trace::Placement>(trace::whole({"out"}, {kElements})));
  }
}

void write(RankCapsule& capsule, int64_t step) {
  capsule.begin(step);
  add_tensors(capsule);
  capsule.end();
}

std::vector<std::string> faults_of(const fs::path& folder, int64_t step = -1) {
  const capsule::Capsule capsule(folder, step);
  std::vector<std::string> texts;
  for (const auto& fault : capsule.faults()) texts.push_back(fault.what);
  for (const auto& fault : capsule::damaged_values(capsule)) texts.push_back(fault.what);
  return texts;
}

class CapsuleWriterTest : public testing::Test {
 protected:
  CapsulePlan plan(int64_t queue_bytes = 64 << 20) const {
    CapsulePlan plan;
    plan.folder = folder_.trace();
    plan.queue_bytes = queue_bytes;
    plan.run = 7;
    return plan;
  }
  // Standard error of what was done.
  static std::string said(const std::function<void()>& deed) {
    testing::internal::CaptureStderr();
    deed();
    return testing::internal::GetCapturedStderr();
  }
  TraceFolder folder_;
};

// The bound is below one tensor, and far below the rank.
TEST_F(CapsuleWriterTest, ARankLargerThanTheBoundIsWhole) {
  const std::string text = said([&] {
    CapsuleWriter writer(plan(kElements));
    RankCapsule capsule = writer.add_rank(facts_of_rank(0));
    write(capsule, 4);
  });
  EXPECT_THAT(faults_of(folder_.trace()), IsEmpty());
  EXPECT_EQ(capsule::Capsule(folder_.trace()).entries().size(), size_t{kTensors + 1});
  EXPECT_THAT(text, HasSubstr("nanhunt: step 4 was held up for "));
  EXPECT_THAT(text, HasSubstr("rank 0 waited for room, 16384 bytes may wait"));
}

TEST_F(CapsuleWriterTest, RoomForAllOfItHoldsNobodyUp) {
  const std::string text = said([&] {
    CapsuleWriter writer(plan());
    RankCapsule capsule = writer.add_rank(facts_of_rank(0));
    write(capsule, 4);
  });
  EXPECT_EQ(text, "");
  EXPECT_THAT(faults_of(folder_.trace()), IsEmpty());
}

TEST_F(CapsuleWriterTest, ByChoiceItIsNotWholeAndSaysSo) {
  CapsulePlan leaves_out = plan(kElements);
  leaves_out.when_full = WhenFull::kLeaveOut;
  {
    CapsuleWriter writer(leaves_out);
    RankCapsule capsule = writer.add_rank(facts_of_rank(0));
    write(capsule, 4);
  }
  EXPECT_THAT(faults_of(folder_.trace()),
              testing::AllOf(testing::Contains(HasSubstr("left out 24: memory")),
                             testing::Contains(HasSubstr("weight param: rank 0 has no values"))));
}

TEST_F(CapsuleWriterTest, RanksThatShareTheBoundAreWhole) {
  {
    CapsuleWriter writer(plan(3 * kElements));
    std::vector<RankCapsule> capsules;
    for (int rank = 0; rank < 3; ++rank)
      capsules.push_back(writer.add_rank(facts_of_rank(rank, 3)));
    std::vector<std::thread> threads;
    for (auto& capsule : capsules) threads.emplace_back([&capsule] { write(capsule, 4); });
    for (auto& thread : threads) thread.join();
  }
  EXPECT_THAT(faults_of(folder_.trace()), IsEmpty());
}

// Captured text goes through a file, which the limit would cut: what is said is looked at after it.
TEST_F(CapsuleWriterTest, AFullDiskEndsTheWritingAndCostsNoOlderState) {
  CapsulePlan kept = plan(kElements);
  kept.keep = 1;
  CapsuleWriter writer(kept);
  RankCapsule capsule = writer.add_rank(facts_of_rank(0));
  write(capsule, 1);
  write(capsule, 2);
  while (!capsule::is_ended(folder_.trace(), 2)) std::this_thread::yield();
  const std::string text = said([&] {
    {
      const trace::test::FileSizeLimit limit(40 << 10);
      write(capsule, 3);
    }
    for (int step = 4; step < 7; ++step) write(capsule, step);
    writer.close();
  });
  EXPECT_THAT(text, HasSubstr("File too large"));
  EXPECT_THAT(text, HasSubstr("capsule of step 6, rank 0: it is not written: writing stopped"));
  EXPECT_THAT(faults_of(folder_.trace(), 2), IsEmpty());
  EXPECT_EQ(capsule::Capsule(folder_.trace()).step().step, 2);
}

TEST_F(CapsuleWriterTest, ADiskWithRoomKeepsTheRing) {
  CapsulePlan kept = plan(kElements);
  kept.keep = 1;
  const std::string text = said([&] {
    CapsuleWriter writer(kept);
    RankCapsule capsule = writer.add_rank(facts_of_rank(0));
    for (int step = 1; step < 7; ++step) write(capsule, step);
  });
  EXPECT_THAT(text, Not(HasSubstr("stopped")));
  EXPECT_THAT(capsule::ended_steps(folder_.trace()), ElementsAre(5, 6));
}

// Another rank's files never come: capsules that are not whole push none out that is.
TEST_F(CapsuleWriterTest, WholeOnesAreNotPushedOutByOthers) {
  CapsulePlan kept = plan();
  kept.keep = 1;
  {
    CapsuleWriter writer(kept);
    RankCapsule zero = writer.add_rank(facts_of_rank(0, 2)),
                one = writer.add_rank(facts_of_rank(1, 2));
    write(zero, 1);
    write(one, 1);
    for (int step = 2; step < 6; ++step) write(zero, step);
  }
  EXPECT_THAT(capsule::ended_steps(folder_.trace()), ElementsAre(1));
  EXPECT_THAT(trace::steps_in(folder_.trace()), ElementsAre(1, 4, 5));
}

// More segments than the new run writes: they would be taken for its own.
TEST_F(CapsuleWriterTest, WhatAnEarlierRunLeftOfTheStepIsRemoved) {
  {
    CapsuleWriter writer(plan(kElements));
    RankCapsule capsule = writer.add_rank(facts_of_rank(0));
    write(capsule, 4);
  }
  ASSERT_TRUE(fs::exists(trace::segment_path(folder_.trace(), {4, 0, 2})));
  CapsulePlan later = plan();
  later.run = 8;
  {
    CapsuleWriter writer(later);
    RankCapsule capsule = writer.add_rank(facts_of_rank(0));
    write(capsule, 4);
  }
  EXPECT_THAT(faults_of(folder_.trace()), IsEmpty());
}

TEST_F(CapsuleWriterTest, AStepThatIsBegunTwiceStaysAsItWas) {
  const std::string text = said([&] {
    CapsuleWriter writer(plan());
    RankCapsule capsule = writer.add_rank(facts_of_rank(0));
    write(capsule, 4);
    write(capsule, 4);
  });
  EXPECT_THAT(text, HasSubstr("capsule of step 4, rank 0: it is written already"));
  EXPECT_THAT(faults_of(folder_.trace()), IsEmpty());
  EXPECT_EQ(capsule::Capsule(folder_.trace()).entries().size(), size_t{kTensors + 1});
}

// Each rank by another run, as when a job was started again while the old one still writes.
TEST_F(CapsuleWriterTest, TwoRunsInOneFolderAreTold) {
  for (int rank = 0; rank < 2; ++rank) {
    CapsulePlan own = plan();
    own.run = static_cast<uint64_t>(rank);
    CapsuleWriter writer(own);
    RankCapsule capsule = writer.add_rank(facts_of_rank(rank, 2));
    write(capsule, 4);
  }
  EXPECT_THAT(faults_of(folder_.trace()),
              ElementsAre(HasSubstr("ranks 0 and 1 were written by two runs")));
}

}  // namespace
}  // namespace nanhunt::hooks
