// SPDX-License-Identifier: Apache-2.0
// Taps on a small network: what gets a row, what links to what, and that nothing of it moves a bit
// of the parameters.
#include "hooks/rank_taps.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <thread>

#include "tests/support/scratch_folder.h"
#include "trace/trace_reader.h"

namespace nanhunt::hooks {
namespace {

using trace::LinkGrade;
using trace::Phase;

TapPoint at_point(const std::string& site, Phase phase, const std::string& role) {
  TapPoint point;
  point.site = site;
  point.phase = phase;
  point.role = role;
  return point;
}

TapPoint forward(const std::string& site) {
  return at_point(site, Phase::kForward, "output");
}
TapPoint backward(const std::string& site) {
  return at_point(site, Phase::kBackward, "grad_output");
}

// Two layers, a residual, an untapped add, a cast, an in-place op; momentum by hand.
struct Network {
  at::Tensor w1, w2, m1;

  explicit Network(int64_t seed) {
    w1 = at::arange(24, at::kFloat).reshape({4, 6}).sub(11.5 + seed).mul(0.05);
    w2 = at::arange(16, at::kFloat).reshape({4, 4}).sub(7.5).mul(0.07);
    m1 = at::zeros({4, 6});
    w1.requires_grad_(true);
    w2.requires_grad_(true);
  }

  at::Tensor step(RankTaps& taps, int64_t number) {
    const at::Tensor x = at::arange(18, at::kFloat).reshape({3, 6}).mul(0.1).sub(0.8);
    taps.begin_step(number);
    taps.tap(at_point("fc1.weight", Phase::kForward, "weight"), w1);
    taps.tap(at_point("fc2.weight", Phase::kForward, "weight"), w2);
    const at::Tensor input = taps.tap(forward("input"), x);
    at::Tensor h = at::linear(input, w1);
    h = taps.tap(forward("fc1"), backward("fc1"), h);
    at::Tensor a = at::gelu(h).view({3, 2, 2}).reshape({3, 4});
    a = a.to(at::kDouble).to(at::kFloat).mul_(0.5);
    at::Tensor y = at::linear(a, w2) + h;
    y = taps.tap(forward("fc2"), backward("fc2"), y);
    const at::Tensor loss = taps.tap(at_point("loss", Phase::kLoss, "output"), y.square().mean());
    torch::autograd::backward({loss}, {});
    at::NoGradGuard no_grad;
    taps.tap(at_point("fc1.weight", Phase::kUnscaled, "grad"), w1.grad());
    taps.tap(at_point("fc2.weight", Phase::kUnscaled, "grad"), w2.grad());
    m1.mul_(0.9).add_(w1.grad());
    w1.sub_(m1, 0.1);
    taps.tap(at_point("fc1.weight", Phase::kUpdate, "exp_avg"), m1);
    taps.tap(at_point("fc1.weight", Phase::kUpdate, "param"), w1);
    w1.mutable_grad().zero_();
    w2.mutable_grad().zero_();
    taps.end_step();
    return loss;
  }
};

trace::CapturePlan plan_for(const std::filesystem::path& out, trace::Level level) {
  trace::CapturePlan plan;
  plan.out = out;
  plan.level = level;
  return plan;
}

trace::RunFacts rank_of(int32_t rank, int32_t world) {
  trace::RunFacts facts;
  facts.rank = rank;
  facts.world_size = world;
  return facts;
}

// Parameters after three steps.
std::vector<at::Tensor> train(std::optional<trace::CapturePlan> plan) {
  Recorder recorder(std::move(plan));
  RankTaps taps(recorder.add_rank(rank_of(0, 1)));
  Network network(0);
  for (int64_t step = 0; step < 3; ++step) network.step(taps, step);
  return {network.w1.detach(), network.w2.detach(), network.m1};
}

const trace::Record& find(const trace::Step& step, const std::string& site, Phase phase,
                          const std::string& role, int32_t rank = 0) {
  for (const trace::Record& record : step.records) {
    if (record.what.site == site && record.what.phase == phase && record.what.role == role &&
        record.where.rank == rank) {
      return record;
    }
  }
  ADD_FAILURE() << "no record of " << site << " " << role;
  return step.records.front();
}

// "site role" of what the record links to, of one grade.
std::set<std::string> inputs_of(const trace::Step& step, const trace::Record& record,
                                LinkGrade grade = LinkGrade::kFlow) {
  std::set<std::string> names;
  for (const trace::Link& link : record.links) {
    const int index = step.find(record.where.rank, link.sequence);
    if (index < 0 || link.grade != grade) continue;
    names.insert(step.records[index].what.site + " " + step.records[index].what.role);
  }
  return names;
}

using Names = std::set<std::string>;

TEST(RankTaps, LinksFollowTheValues) {
  const ScratchFolder folder;
  train(plan_for(folder.path(), trace::Level::kStats));
  const trace::TraceReader reader(folder.path());
  ASSERT_EQ(reader.steps().size(), 3u);
  const trace::Step step = reader.read_step(2);
  EXPECT_TRUE(step.progress.at(0).complete);
  EXPECT_EQ(inputs_of(step, find(step, "fc1", Phase::kForward, "output")),
            (Names{"input output", "fc1.weight weight"}));
  EXPECT_EQ(inputs_of(step, find(step, "fc2", Phase::kForward, "output")),
            (Names{"fc1 output", "fc2.weight weight"}))
      << "through gelu, view, casts, in place, linear and the untapped add";
  EXPECT_EQ(inputs_of(step, find(step, "loss", Phase::kLoss, "output")), (Names{"fc2 output"}));
  EXPECT_EQ(inputs_of(step, find(step, "fc1", Phase::kBackward, "grad_output")),
            (Names{"fc2 grad_output", "fc1 output", "fc2.weight weight"}));
  EXPECT_EQ(inputs_of(step, find(step, "fc1.weight", Phase::kUnscaled, "grad")),
            (Names{"fc1 grad_output", "input output"}));
  const Names update = inputs_of(step, find(step, "fc1.weight", Phase::kUpdate, "exp_avg"));
  EXPECT_TRUE(update.contains("fc1.weight grad"));
  EXPECT_FALSE(update.contains("fc2.weight grad"));
}

TEST(RankTaps, CaptureChangesNoBit) {
  const ScratchFolder stats, full;
  const auto off = train(std::nullopt);
  const auto with_stats = train(plan_for(stats.path(), trace::Level::kStats));
  const auto with_full = train(plan_for(full.path(), trace::Level::kFull));
  for (size_t i = 0; i < off.size(); ++i) {
    EXPECT_TRUE(at::equal(off[i], with_stats[i]));
    EXPECT_TRUE(at::equal(off[i], with_full[i]));
  }
  // The twin: the comparison sees a single changed bit.
  EXPECT_FALSE(at::equal(off[0], with_full[0].mul(1.0 + 0x1p-22)));
  const trace::TraceReader reader(full.path());
  const trace::Step last = reader.read_step(2);
  const auto recorded = reader.read_doubles(find(last, "fc1.weight", Phase::kUpdate, "param"));
  ASSERT_EQ(recorded.size(), 24u);
  for (int64_t i = 0; i < 24; ++i) {
    EXPECT_EQ(recorded[i], with_full[0].flatten()[i].item<float>());
  }
}

TEST(RankTaps, OffObservesNoOp) {
  if (at::hasGlobalCallbacks()) GTEST_SKIP() << "another test of this process has observed ops";
  train(std::nullopt);
  EXPECT_FALSE(at::hasGlobalCallbacks());
  const ScratchFolder folder;
  train(plan_for(folder.path(), trace::Level::kStats));
  EXPECT_TRUE(at::hasGlobalCallbacks());
}

TEST(RankTaps, WhatHasARecordAlreadyGetsNoNoise) {
  const ScratchFolder folder;
  trace::CapturePlan plan = plan_for(folder.path(), trace::Level::kStats);
  plan.perturbation = trace::Perturbation{};
  plan.perturbation->noise = {{"**", "", "", 0x1p-8}};
  Recorder recorder(plan);
  RankTaps taps(recorder.add_rank(rank_of(0, 1)));
  taps.begin_step(0);
  const at::Tensor x = at::ones({8});
  TapPoint again = forward("container");
  EXPECT_FALSE(taps.tap(again, x).is_same(x));
  again.copied = true;
  EXPECT_TRUE(taps.tap(again, x).is_same(x));
}

TEST(RankTaps, TapReturnsTheSameTensorWithoutNoise) {
  const ScratchFolder folder;
  Recorder recorder(plan_for(folder.path(), trace::Level::kStats));
  RankTaps taps(recorder.add_rank(rank_of(0, 1)));
  taps.begin_step(0);
  const at::Tensor x = at::ones({2});
  EXPECT_TRUE(taps.tap(forward("x"), x).is_same(x));
  EXPECT_EQ(taps.carried(x).size(), 1u);
  EXPECT_TRUE(taps.tap(forward("nothing"), at::Tensor()).defined() == false);
  const at::Tensor complex = at::ones({2}, at::kComplexFloat);
  EXPECT_TRUE(taps.tap(forward("complex"), complex).is_same(complex)) << "left out, not refused";
  EXPECT_TRUE(taps.on());
}

TEST(RankTaps, RoundedToIsTheTypeOfTheRecord) {
  const ScratchFolder folder;
  {
    Recorder recorder(plan_for(folder.path(), trace::Level::kFull));
    RankTaps taps(recorder.add_rank(rank_of(0, 1)));
    taps.begin_step(0);
    TapPoint point = forward("x");
    point.rounded_to = trace::DType::kBFloat16;
    taps.tap(point, at::full({3}, 1.0 + 0x1p-7 + 0x1p-12, at::kFloat));
    taps.end_step();
  }
  const trace::TraceReader reader(folder.path());
  const trace::Step step = reader.read_step(0);
  ASSERT_EQ(step.records.size(), 1u);
  EXPECT_EQ(step.records[0].storage, trace::DType::kBFloat16);
  EXPECT_EQ(reader.read_doubles(step.records[0])[0], 1.0 + 0x1p-7);
}

TEST(RankTaps, TwoRanksAsThreadsAndACollective) {
  const ScratchFolder folder;
  {
    Recorder recorder(plan_for(folder.path(), trace::Level::kStats));
    std::vector<RankRecorder*> ranks;
    for (int32_t r = 0; r < 2; ++r) ranks.push_back(&recorder.add_rank(rank_of(r, 2)));
    const auto run = [&](int32_t rank) {
      RankTaps taps(*ranks[rank]);
      taps.begin_step(0);
      const at::Tensor x = taps.tap(forward("x"), at::full({4}, 1.0 + rank));
      at::Tensor bucket = at::zeros({6});
      bucket.narrow(0, 2, 4).copy_(x);
      trace::Collective sum;
      sum.op = "all_reduce";
      sum.group = {0, 1};
      CollectiveCall call;
      std::thread communication([&] {
        call = taps.issue(sum, {at_point("bucket", Phase::kPreCollective, "buffer")}, {bucket});
      });
      communication.join();
      bucket.narrow(0, 2, 4).fill_(
          3.0);  // own kernel: what the other rank gave is not ATen's matter
      taps.complete(call, {at_point("bucket", Phase::kPostCollective, "buffer")}, {bucket});
      taps.tap(forward("y"), bucket.narrow(0, 2, 4) * 2);
      taps.end_step();
    };
    std::thread other(run, 1);
    run(0);
    other.join();
  }
  const trace::Step step = trace::TraceReader(folder.path()).read_step(0);
  ASSERT_EQ(step.collectives.size(), 2u);
  for (int32_t rank = 0; rank < 2; ++rank) {
    const auto& pre = find(step, "bucket", Phase::kPreCollective, "buffer", rank);
    const auto& post = find(step, "bucket", Phase::kPostCollective, "buffer", rank);
    EXPECT_EQ(pre.where.lane, trace::Lane::kCommunication);
    EXPECT_EQ(inputs_of(step, pre), (Names{"x output"}));
    EXPECT_EQ(inputs_of(step, post, LinkGrade::kDeclared), (Names{"bucket buffer"}));
    EXPECT_EQ(inputs_of(step, find(step, "y", Phase::kForward, "output", rank)),
              (Names{"bucket buffer"}));
    EXPECT_EQ(find(step, "x", Phase::kForward, "output", rank).statistics.sum, 4.0 * (1 + rank));
    const int index = step.find_collective(rank, post.collective);
    ASSERT_GE(index, 0);
    const trace::Collective& log = step.collectives[index];
    EXPECT_EQ(log.inputs, (std::vector<int64_t>{pre.where.sequence}));
    EXPECT_EQ(log.outputs, (std::vector<int64_t>{post.where.sequence}));
    EXPECT_GT(log.complete_sequence, log.issue_sequence);
  }
}

TEST(RankTaps, FilteredRecordsLeaveNoGapInTheChain) {
  const ScratchFolder folder;
  auto plan = plan_for(folder.path(), trace::Level::kStats);
  plan.sites = {"a", "c"};
  {
    Recorder recorder(plan);
    RankTaps taps(recorder.add_rank(rank_of(0, 1)));
    taps.begin_step(0);
    const at::Tensor a = taps.tap(forward("a"), at::ones({2}));
    const at::Tensor b = taps.tap(forward("b"), a + 1);
    taps.tap(forward("c"), b * 2);
    taps.end_step();
  }
  const trace::Step step = trace::TraceReader(folder.path()).read_step(0);
  ASSERT_EQ(step.records.size(), 2u);
  EXPECT_EQ(inputs_of(step, step.records[1]), (Names{"a output"}));
}

TEST(RankTaps, OldHooksOfALeafAreGone) {
  const ScratchFolder folder;
  {
    Recorder recorder(plan_for(folder.path(), trace::Level::kStats));
    RankTaps taps(recorder.add_rank(rank_of(0, 1)));
    at::Tensor leaf = at::ones({2});
    leaf.requires_grad_(true);
    for (int64_t step = 0; step < 3; ++step) {
      taps.begin_step(step);
      taps.tap_gradient(backward("leaf"), leaf);
      torch::autograd::backward({(leaf * 2).sum()}, {});
      taps.end_step();
    }
  }
  const trace::TraceReader reader(folder.path());
  for (const int64_t step : reader.steps()) EXPECT_EQ(reader.read_step(step).records.size(), 1u);
}

}  // namespace
}  // namespace nanhunt::hooks
