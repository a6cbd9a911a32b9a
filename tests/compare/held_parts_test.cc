// SPDX-License-Identifier: Apache-2.0
// Which holder of a tensor that is out of its envelope is named, when there are values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/compare/signature_verdicts.h"

namespace nanhunt::compare::test {
namespace {

using testing::ElementsAre;
using trace::MeshAxis;
using trace::Phase;

constexpr int64_t kRows = 8, kColumns = 16;
constexpr int kRanks = 2;

// The gradient of an activation whose samples lie on two data-parallel ranks. Their losses are
// means over their own samples: each rank holds `kRanks` times the gradient of the whole batch's.
// `wrong` ranks have another one, the last sample's row alone where `row_alone` says so.
TraceBuilder gradient_of_batch(const std::vector<int>& wrong, bool row_alone = false) {
  TraceBuilder builder(1, kRanks);
  const Values whole = normal_values(kRows * kColumns, 1), other = normal_values(whole.size(), 2);
  const size_t share = whole.size() / kRanks;
  for (int rank = 0; rank < kRanks; ++rank) {
    auto placement = slice({kRows, kColumns}, 0, rank, kRanks, MeshAxis::kDp);
    placement.mesh.front() = {MeshAxis::kDp, trace::PlacementKind::kBatch, trace::ReduceOp::kSum,
                              kRanks};
    const auto first = static_cast<ptrdiff_t>(share * static_cast<size_t>(rank));
    Values mine(whole.begin() + first, whole.begin() + first + static_cast<ptrdiff_t>(share));
    if (std::ranges::find(wrong, rank) != wrong.end()) {
      const size_t from = row_alone ? share - kColumns : 0;
      for (size_t i = from; i < share; ++i) mine[i] = other[i];
    }
    builder.add({rank, "block", Phase::kBackward, "grad_output"}, times(mine, kRanks), placement);
  }
  return builder;
}

TraceBuilder on_one_rank() {
  TraceBuilder builder;
  builder.add({0, "block", Phase::kBackward, "grad_output"}, normal_values(kRows * kColumns, 1),
              copies({kRows, kColumns}));
  return builder;
}

std::vector<int32_t> named(const std::vector<int>& wrong, bool row_alone = false) {
  const Verdict verdict = verdict_of(gradient_of_batch(wrong, row_alone), on_one_rank(), true);
  return verdict.origins.empty() ? std::vector<int32_t>{} : verdict.origins.front().finding.ranks;
}

TEST(HeldParts, OfAScaledBatchNameTheWrongRankAlone) {
  EXPECT_THAT(named({1}), ElementsAre(1));
  EXPECT_THAT(named({0}), ElementsAre(0));
  EXPECT_THAT(named({1}, true), ElementsAre(1));
}

TEST(HeldParts, OfAScaledBatchNameAllThatAreWrong) {
  EXPECT_THAT(named({}), ElementsAre());
  EXPECT_THAT(named({0, 1}), ElementsAre(0, 1));
}

}  // namespace
}  // namespace nanhunt::compare::test
