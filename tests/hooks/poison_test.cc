// SPDX-License-Identifier: Apache-2.0
// Fresh memory of the process is NaN once it is poisoned, and what a maker writes is as it was.
#include "hooks/poison.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "hooks/rank_taps.h"
#include "hooks/recorder.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::hooks {
namespace {

bool is_poison(const at::Tensor& tensor) {
  const auto* bytes = static_cast<const unsigned char*>(tensor.const_data_ptr());
  for (size_t i = 0; i < tensor.nbytes(); ++i) {
    if (bytes[i] != kPoisonByte) return false;
  }
  return true;
}

// Large enough that memory of it which was written is taken again.
at::Tensor fresh(at::ScalarType type) {
  return at::empty({1 << 10}, at::device(at::kCPU).dtype(type));
}

void take_taps(bool poison) {
  const ScratchFolder folder;
  trace::CapturePlan plan;
  plan.out = folder.path();
  plan.poison = poison;
  Recorder recorder(plan);
  const RankTaps taps(recorder.add_rank({}));
}

// In this order: poison lasts as long as the process.
TEST(Poison, OfThePlanFillsFreshMemory) {
  take_taps(false);
  fresh(at::kFloat).zero_();
  EXPECT_FALSE(is_poison(fresh(at::kFloat)));
  take_taps(true);
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble}) {
    fresh(type).zero_();
    const at::Tensor tensor = fresh(type);
    EXPECT_TRUE(is_poison(tensor)) << type;
    EXPECT_TRUE(tensor.isnan().all().item<bool>()) << type;
  }
}

TEST(Poison, LeavesWhatIsWritten) {
  poison_allocations();
  EXPECT_TRUE(at::equal(at::zeros({3}), at::ones({3}) - 1));
  const at::Tensor numbers = at::arange(5);
  EXPECT_TRUE(at::equal(numbers.clone(), numbers));
  at::Tensor grown = at::arange(3);
  grown.resize_({6});
  EXPECT_TRUE(at::equal(grown.slice(0, 0, 3), at::arange(3)));
}

}  // namespace
}  // namespace nanhunt::hooks
