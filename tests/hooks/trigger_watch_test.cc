// SPDX-License-Identifier: Apache-2.0
// Each trigger fires on what it waits for, and does not on what looks like it.
#include "hooks/trigger_watch.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace nanhunt::hooks {
namespace {

using testing::HasSubstr;
using trace::Phase;
using trace::TriggerKind;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

trace::Record scalar(const std::string& site, Phase phase, const std::string& role, double value) {
  trace::Record record;
  record.what.site = site;
  record.what.phase = phase;
  record.what.role = role;
  record.statistics.count = 1;
  record.statistics.nan = std::isnan(value);
  record.statistics.pos_inf = value == kInf;
  record.statistics.neg_inf = value == -kInf;
  record.statistics.sum = std::isfinite(value) ? value : 0;
  record.statistics.sum_squares = record.statistics.sum * record.statistics.sum;
  return record;
}

trace::Record loss(double value) {
  return scalar("loss", Phase::kLoss, "loss", value);
}
trace::Record norm(double value) {
  return scalar("optimizer", Phase::kClipped, "grad_norm", value);
}

// The steps in which the trigger fires when each has one record.
std::vector<int64_t> fired_at(const std::string& trigger, const std::vector<trace::Record>& records,
                              int32_t ring = 2) {
  TriggerWatch watch({*trace::trigger_from_text(trigger)}, ring);
  std::vector<int64_t> steps;
  for (size_t i = 0; i < records.size(); ++i) {
    watch.begin_step(static_cast<int64_t>(i));
    if (watch.see(records[i]) || watch.end_step()) steps.push_back(static_cast<int64_t>(i));
  }
  return steps;
}

using Steps = std::vector<int64_t>;

TEST(TriggerWatch, NonFiniteFiresOnceWhileItStays) {
  EXPECT_EQ(fired_at("nonfinite", {loss(1), loss(kNan), loss(kNan), loss(kNan)}), Steps{1});
  EXPECT_EQ(fired_at("nonfinite", {loss(kInf), loss(1), loss(-kInf)}), (Steps{0, 2}))
      << "armed again after a step without";
  EXPECT_EQ(fired_at("nonfinite", {loss(1), loss(1e38), loss(2)}), Steps{});
}

TEST(TriggerWatch, MaskedMinusInfIsNoFault) {
  const auto mask = [](double value) {
    return scalar("attention", Phase::kForward, "mask", value);
  };
  EXPECT_EQ(fired_at("nonfinite", {mask(-kInf)}), Steps{});
  EXPECT_EQ(fired_at("nonfinite", {mask(kInf)}), Steps{0});
  EXPECT_EQ(fired_at("nonfinite", {scalar("attention", Phase::kForward, "output", -kInf)}),
            Steps{0});
}

TEST(TriggerWatch, LossJumpsAgainstTheMedian) {
  EXPECT_EQ(fired_at("loss>2x", {loss(2), loss(3), loss(2), loss(4.1)}), Steps{3});
  EXPECT_EQ(fired_at("loss>2x", {loss(2), loss(3), loss(2), loss(3.9)}), Steps{});
  EXPECT_EQ(fired_at("loss>2x", {loss(2), loss(2), loss(9)}), Steps{}) << "two steps are too few";
  EXPECT_EQ(fired_at("loss>3x", {loss(2), loss(2), loss(2), loss(5), loss(7)}), Steps{4});
  EXPECT_EQ(fired_at("loss>2x", {loss(2), loss(2), loss(2), loss(kNan)}), Steps{3})
      << "not a number is above every limit";
  EXPECT_EQ(fired_at("loss>2x", {norm(2), norm(2), norm(2), norm(9)}), Steps{});
}

TEST(TriggerWatch, LossHasAHistoryWhateverTheRing) {
  EXPECT_EQ(fired_at("loss>2x", {loss(2), loss(2), loss(2), loss(9)}, 1), Steps{3});
}

// A loss that falls: the old, high ones leave the history.
TEST(TriggerWatch, HistoryForgets) {
  std::vector<trace::Record> records(4, loss(100));
  records.insert(records.end(), kLeastHistory, loss(1));
  records.push_back(loss(3));
  EXPECT_EQ(fired_at("loss>2x", records), Steps{static_cast<int64_t>(records.size()) - 1});
  std::vector<trace::Record> short_fall(kLeastHistory, loss(100));
  short_fall.push_back(loss(1));
  short_fall.push_back(loss(3));
  EXPECT_EQ(fired_at("loss>2x", short_fall), Steps{});
}

TEST(TriggerWatch, TensorsOfALossAreNotALoss) {
  trace::Record tokens = loss(2);
  tokens.statistics.count = 4;
  trace::Record high = tokens;
  high.statistics.sum = 100;
  EXPECT_EQ(fired_at("loss>2x", {tokens, tokens, tokens, high}), Steps{});
}

TEST(TriggerWatch, GradNormJumps) {
  EXPECT_EQ(fired_at("gnorm>10x", {norm(1), norm(1), norm(1), norm(11)}), Steps{3});
  EXPECT_EQ(fired_at("gnorm>10x", {norm(1), norm(1), norm(1), norm(9)}), Steps{});
  EXPECT_EQ(fired_at("gnorm>10x", {loss(1), loss(1), loss(1), loss(11)}), Steps{});
}

TEST(TriggerWatch, NormIsComputedWhereNoneIsRecorded) {
  const auto gradient = [](double v) { return scalar("w", Phase::kUnscaled, "grad", v); };
  EXPECT_EQ(fired_at("gnorm>10x", {gradient(1), gradient(1), gradient(1), gradient(-11)}),
            Steps{3});
  EXPECT_EQ(fired_at("gnorm>10x", {gradient(1), gradient(1), gradient(1), gradient(-9)}), Steps{});
}

TEST(TriggerWatch, SaysWhatWasMeasuredAndAllowed) {
  TriggerWatch watch({{TriggerKind::kLoss, 2}}, 3);
  for (int64_t step = 0; step < 3; ++step) {
    watch.begin_step(step);
    EXPECT_FALSE(watch.see(loss(1.5)));
  }
  watch.begin_step(3);
  const auto fired = watch.see(loss(4));
  ASSERT_TRUE(fired);
  EXPECT_EQ(fired->trigger, "loss>2x");
  EXPECT_EQ(fired->step, 3);
  EXPECT_EQ(fired->detail,
            "loss loss loss, rank 0: measured 4, allowed 3 (2 x the median 1.5 of 3 earlier "
            "steps)");
}

TEST(TriggerWatch, TellsWhatItNeverMet) {
  TriggerWatch watch({{TriggerKind::kLoss, 2}, {TriggerKind::kGradNorm, 4}}, 3);
  watch.begin_step(0);
  EXPECT_EQ(watch.unmatched(), "loss>2x, gnorm>4x");
  watch.see(loss(1));
  EXPECT_EQ(watch.unmatched(), "gnorm>4x");
}

}  // namespace
}  // namespace nanhunt::hooks
