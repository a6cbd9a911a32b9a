// SPDX-License-Identifier: Apache-2.0
// When the results of a collective that nobody announces are recorded, and what the log says of the
// wait.
#include "hooks/collective_watch.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/scratch_folder.h"
#include "trace/trace_reader.h"

namespace nanhunt::hooks {
namespace {

class Collectives : public testing::Test {
 protected:
  Collectives() {
    trace::CapturePlan plan;
    plan.out = folder_.path();
    recorder_.emplace(plan);
    taps_.emplace(recorder_->add_rank({}));
    taps_->begin_step(0);
    watch_.emplace(*taps_, [](const C10dCall&, trace::Phase phase, const at::Tensor&, size_t) {
      TapPoint point;
      point.site = "bucket";
      point.phase = phase;
      point.role = "grad";
      return point;
    });
  }

  // An all-reduce in place whose work has ended or not; `wait_expected`: a wait would be seen.
  void reduce(at::Tensor tensor, bool* ended, bool wait_expected = false) {
    C10dCall call;
    call.collective.op = "all_reduce";
    call.collective.group = {0};
    call.operands = call.results = {tensor};
    auto issued = watch_->issue(call);
    issued.work = Work(nullptr, [ended] { return *ended; });
    issued.wait_expected = wait_expected;
    watch_->pending(std::move(issued));
  }

  trace::Step finish() {
    watch_->finish();
    taps_->end_step();
    recorder_->close();
    return trace::TraceReader(folder_.path()).read_step(0);
  }

  const ScratchFolder folder_;
  std::optional<Recorder> recorder_;
  std::optional<RankTaps> taps_;
  std::optional<CollectiveWatch> watch_;
};

TEST_F(Collectives, ResultIsReadAtItsFirstUse) {
  at::Tensor tensor = at::ones({4});
  bool ended = false;
  reduce(tensor, &ended);
  tensor.mul_(2);  // what the backend does
  ended = true;
  watch_->before_use(at::ones({4}), false);
  EXPECT_FALSE(watch_->idle()) << "another tensor is no use of it";
  watch_->before_use(tensor.view({2, 2}), false);
  EXPECT_TRUE(watch_->idle());
  tensor.zero_();
  const trace::Step step = finish();
  ASSERT_EQ(step.records.size(), 2u);
  EXPECT_EQ(step.records[0].statistics.sum, 4);
  EXPECT_EQ(step.records[1].statistics.sum, 8) << "neither before the reduction nor after the zero";
  ASSERT_EQ(step.collectives.size(), 1u);
  EXPECT_GE(step.collectives[0].complete_sequence, 0);
}

TEST_F(Collectives, ReadBeforeTheWorkEndedIsNoWait) {
  at::Tensor tensor = at::ones({4});
  bool ended = false;
  reduce(tensor, &ended);
  watch_->before_use(tensor, false);
  ended = true;
  const trace::Step step = finish();
  ASSERT_EQ(step.records.size(), 2u);
  EXPECT_EQ(step.records[1].statistics.sum, 4) << "as it was when it was read";
  ASSERT_EQ(step.collectives.size(), 1u);
  EXPECT_EQ(step.collectives[0].complete_sequence, -1);
}

TEST_F(Collectives, ABackendMayFillItsResultWhileItIsWaitedFor) {
  at::Tensor tensor = at::ones({4});
  bool ended = false;
  reduce(tensor, &ended);
  watch_->before_use(tensor, true);
  EXPECT_FALSE(watch_->idle());
  tensor.fill_(5);
  ended = true;
  const trace::Step step = finish();
  EXPECT_EQ(step.records[1].statistics.sum, 20);
  EXPECT_GE(step.collectives[0].complete_sequence, 0);
}

// The work was fast, yet the program read its result before it waited.
TEST_F(Collectives, ReadBeforeTheWaitIsToldWhateverTheSpeed) {
  at::Tensor tensor = at::ones({4});
  bool ended = true;
  reduce(tensor, &ended, true);
  watch_->before_use(tensor, false);
  const trace::Step step = finish();
  ASSERT_EQ(step.collectives.size(), 1u);
  EXPECT_EQ(step.collectives[0].complete_sequence, -1);
}

TEST_F(Collectives, AWaitThatWasSeenComesFirst) {
  at::Tensor tensor = at::ones({4});
  bool ended = true;
  reduce(tensor, &ended, true);
  tensor.mul_(3);  // what the backend does
  watch_->waited(tensor);
  EXPECT_TRUE(watch_->idle());
  tensor.zero_();
  const trace::Step step = finish();
  EXPECT_EQ(step.records[1].statistics.sum, 12);
  EXPECT_GE(step.collectives[0].complete_sequence, 0);
}

}  // namespace
}  // namespace nanhunt::hooks
