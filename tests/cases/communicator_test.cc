// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/cases/rank_inputs.h"

namespace nanhunt::mini {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr size_t kTestSlotBytes = 4096;  // 512 elements a chunk, so that longer buffers are cut

std::vector<int> ranks_up_to(int size) {
  std::vector<int> ranks(static_cast<size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// Every rank's result of an all-reduce of rank_input.
std::vector<std::vector<float>> all_reduced(const std::vector<std::vector<float>>& inputs,
                                            const ReduceOptions& options) {
  const auto size = static_cast<int>(inputs.size());
  const auto world = create_thread_world(size, kTestSlotBytes);
  auto results = inputs;
  const auto failures = run_on_threads(*world, [&](int rank) {
    Group(*world, ranks_up_to(size), rank).all_reduce(results[static_cast<size_t>(rank)], options);
  });
  EXPECT_THAT(failures, Each(""));
  return results;
}

std::vector<ReduceOptions> all_options() {
  std::vector<ReduceOptions> options;
  for (const auto order : {ReduceOrder::kRank, ReduceOrder::kRing, ReduceOrder::kTree}) {
    for (const bool in_storage : {false, true}) {
      for (const auto storage : {trace::DType::kFloat32, trace::DType::kBFloat16}) {
        for (const auto op : {trace::ReduceOp::kSum, trace::ReduceOp::kMax, trace::ReduceOp::kMin,
                              trace::ReduceOp::kProduct}) {
          options.push_back({order, in_storage, storage, op});
        }
      }
    }
  }
  return options;
}

class Communicator : public testing::TestWithParam<int> {
 protected:
  std::vector<std::vector<float>> inputs(size_t elements, trace::DType storage, bool special) {
    std::vector<std::vector<float>> result;
    for (int r = 0; r < GetParam(); ++r) {
      result.push_back(rank_input(r, elements, storage, special));
    }
    return result;
  }
};

TEST_P(Communicator, AllReduceIsTheNaiveReductionOnEveryRank) {
  for (const ReduceOptions& options : all_options()) {
    for (const size_t elements : {1u, 7u, 1537u}) {
      const auto given = inputs(elements, options.storage, elements == 7);
      const auto expected = bits_of(naive_reduction(given, options));
      for (const auto& result : all_reduced(given, options)) {
        ASSERT_EQ(bits_of(result), expected) << static_cast<int>(options.order) << elements;
      }
    }
  }
}

TEST_P(Communicator, ReduceScatterGivesEachRankItsPieceOfTheAllReduce) {
  const size_t size = static_cast<size_t>(GetParam()), piece = 701;
  for (const ReduceOptions& options : all_options()) {
    const auto given = inputs(size * piece, options.storage, true);
    const auto expected = bits_of(naive_reduction(given, options));
    std::vector<std::vector<float>> pieces(size, std::vector<float>(piece));
    const auto world = create_thread_world(GetParam(), kTestSlotBytes);
    run_on_threads(*world, [&](int rank) {
      Group group(*world, ranks_up_to(GetParam()), rank);
      group.reduce_scatter(given[rank], pieces[rank], options);
    });
    for (size_t r = 0; r < size; ++r) {
      const std::vector<uint32_t> own(expected.begin() + r * piece,
                                      expected.begin() + (r + 1) * piece);
      ASSERT_EQ(bits_of(pieces[r]), own);
    }
  }
}

TEST_P(Communicator, AllGatherAndBroadcastMoveBits) {
  const size_t size = static_cast<size_t>(GetParam()), piece = 1031;
  const auto given = inputs(piece, trace::DType::kFloat32, true);
  std::vector<float> expected;
  for (const auto& input : given) expected.insert(expected.end(), input.begin(), input.end());
  const auto world = create_thread_world(GetParam(), kTestSlotBytes);
  std::vector<std::vector<float>> gathered(size, std::vector<float>(size * piece)), sent = given;
  run_on_threads(*world, [&](int rank) {
    Group group(*world, ranks_up_to(GetParam()), rank);
    group.all_gather(given[rank], gathered[rank]);
    group.barrier();
    group.broadcast(sent[rank], GetParam() - 1);
  });
  for (size_t r = 0; r < size; ++r) {
    EXPECT_EQ(bits_of(gathered[r]), bits_of(expected));
    EXPECT_EQ(bits_of(sent[r]), bits_of(given.back()));
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Communicator, testing::Values(1, 2, 3, 4));

TEST(CommunicatorOrder, OrdersAndAccumulationReallyDiffer) {
  std::vector<std::vector<float>> given;
  for (int r = 0; r < 4; ++r) given.push_back(rank_input(r, 513, trace::DType::kBFloat16, false));
  ReduceOptions rank_order{ReduceOrder::kRank, false, trace::DType::kFloat32};
  ReduceOptions ring = rank_order, tree = rank_order, storage = rank_order, fp32 = rank_order;
  ring.order = ReduceOrder::kRing;
  tree.order = ReduceOrder::kTree;
  storage.storage = fp32.storage = trace::DType::kBFloat16;
  storage.accumulate_in_storage = true;
  EXPECT_NE(all_reduced(given, rank_order), all_reduced(given, ring));
  EXPECT_NE(all_reduced(given, rank_order), all_reduced(given, tree));
  EXPECT_NE(all_reduced(given, ring), all_reduced(given, tree));
  EXPECT_NE(all_reduced(given, storage), all_reduced(given, fp32));
}

TEST(CommunicatorGroups, GroupsAndLanesAreIndependent) {
  const auto world = create_thread_world(4, kTestSlotBytes);
  std::vector<float> rows(4), columns(4), lanes(4);
  const auto failures = run_on_threads(*world, [&](int rank) {
    const int row = rank / 2 * 2, column = rank % 2;
    Group row_group(*world, {row, row + 1}, rank), other_lane(*world, {row, row + 1}, rank, 1);
    Group column_group(*world, {column, column + 2}, rank);
    rows[rank] = columns[rank] = lanes[rank] = static_cast<float>(1 << rank);
    row_group.all_reduce({&rows[rank], 1}, {});
    other_lane.all_reduce({&lanes[rank], 1}, {});
    column_group.all_reduce({&columns[rank], 1}, {});
  });
  EXPECT_THAT(failures, Each(""));
  EXPECT_EQ(rows, (std::vector<float>{3, 3, 12, 12}));
  EXPECT_EQ(lanes, rows);
  EXPECT_EQ(columns, (std::vector<float>{5, 10, 5, 10}));
}

TEST(CommunicatorAbort, EndsWaitsThatAreAndWaitsThatCome) {
  const auto world = create_thread_world(3, kTestSlotBytes);
  const auto failures = run_on_threads(*world, [&](int rank) {
    if (rank == 2) return world->abort("rank 2: out of luck");
    Group(*world, {0, 1, 2}, rank).barrier();  // rank 2 never comes
  });
  EXPECT_THAT(failures[0], HasSubstr("out of luck"));
  EXPECT_THAT(failures[1], HasSubstr("out of luck"));
  EXPECT_EQ(failures[2], "");
  std::string later;
  try {
    Group(*world, {0, 1}, 0).barrier();
  } catch (const CommunicatorAborted& aborted) {
    later = aborted.what();
  }
  EXPECT_THAT(later, HasSubstr("out of luck"));
}

TEST(CommunicatorAbort, DifferentCollectivesAreRefusedAndNotMixed) {
  const auto world = create_thread_world(2, kTestSlotBytes);
  const auto failures = run_on_threads(*world, [&](int rank) {
    std::vector<float> buffer(static_cast<size_t>(3 + rank));
    Group(*world, {0, 1}, rank).all_reduce(buffer, {});
  });
  EXPECT_THAT(failures, Each(HasSubstr("different collectives")));
}

}  // namespace
}  // namespace nanhunt::mini
