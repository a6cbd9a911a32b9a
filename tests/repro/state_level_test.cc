// SPDX-License-Identifier: Apache-2.0
// Two capsules, equal or not: each kind of difference is named, and nothing else.
#include "repro/state_level.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/capsule/small_capsule.h"
#include "tests/support/scratch_folder.h"
#include "trace/error.h"

namespace nanhunt::repro {
namespace {

using capsule::Capsule;
using capsule::test::Edit;
using capsule::test::index_of;
using capsule::test::Layout;
using capsule::test::print_again;
using capsule::test::write_capsule;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Layout kLayout{.tp = 2, .dp = 2};

class StateLevel : public testing::Test {
 protected:
  StateComparison compare(const Layout& other, const Edit& edit = {}, const Edit& in_a = {}) {
    write_capsule(a_.path(), kLayout, 4, in_a);
    write_capsule(b_.path(), other, 4, edit);
    return compare_state(Capsule(a_.path()), Capsule(b_.path()));
  }
  // Of the only difference.
  std::string difference(const Edit& edit, const Layout& other = kLayout) {
    const auto state = compare(other, edit);
    EXPECT_EQ(state.differences.size(), 1u);
    if (state.differences.empty()) return "";
    return state.differences[0].tensor + " " + state.differences[0].what;
  }

  ScratchFolder a_, b_;
};

// Changes the values of one tensor on the ranks that have that piece.
Edit with_values(const std::string& site, const std::string& role, int piece,
                 const std::function<void(std::vector<float>&)>& change) {
  return [=](trace::Segment& segment) {
    if (piece >= 0 && segment.rank % 2 != piece) return;
    const size_t i = index_of(segment, site, role);
    auto& bytes = segment.values[i];
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    change(values);
    std::memcpy(bytes.data(), values.data(), bytes.size());
    print_again(segment, i);
  };
}

TEST_F(StateLevel, EqualInEveryLayout) {
  for (const Layout& other :
       {kLayout, Layout{}, Layout{.tp = 4, .dimension = 1}, Layout{.dp = 4, .flat = true}}) {
    const auto state = compare(other);
    EXPECT_THAT(state.differences, IsEmpty());
    const bool same = other.tp == kLayout.tp && other.dp == kLayout.dp;
    EXPECT_EQ(state.equal, state.tensors - (same ? 0 : 1));
    const std::vector<std::string> streams{
        "rng.cpu state is bound to its layout: not compared, rebuilt on load"};
    EXPECT_EQ(state.not_compared, same ? std::vector<std::string>{} : streams);
    for (const auto& entry : std::filesystem::directory_iterator(b_.path()))
      std::filesystem::remove_all(entry);
  }
}

TEST_F(StateLevel, ZeroedMomentsAreNamed) {
  const auto zero = [](std::vector<float>& values) { values.assign(values.size(), 0); };
  EXPECT_EQ(difference(with_values("layers.1.mlp.linear_fc1.weight", "exp_avg_sq", -1, zero)),
            "decoder.layers.1.mlp.linear_fc1.weight exp_avg_sq is all zero in B");
}

TEST_F(StateLevel, SwappedLayersAreNamed) {
  const auto state = compare({.tp = 4}, [](trace::Segment& segment) {
    const size_t i = index_of(segment, "layers.0.mlp.linear_fc1.weight", "master"),
                 j = index_of(segment, "layers.1.mlp.linear_fc1.weight", "master");
    std::swap(segment.values[i], segment.values[j]);
    print_again(segment, i);
    print_again(segment, j);
  });
  ASSERT_EQ(state.differences.size(), 2u);
  EXPECT_EQ(state.differences[0].what,
            "holds in B what decoder.layers.1.mlp.linear_fc1.weight master has in A");
  EXPECT_EQ(state.differences[1].what,
            "holds in B what decoder.layers.0.mlp.linear_fc1.weight master has in A");
}

TEST_F(StateLevel, AShiftedRegionIsNamedWithItsRank) {
  const auto shift = [](std::vector<float>& values) {
    std::move_backward(values.begin(), values.end() - 1, values.end());
  };
  EXPECT_EQ(difference(with_values("layers.0.mlp.linear_fc1.weight", "param", 1, shift)),
            "decoder.layers.0.mlp.linear_fc1.weight param is shifted by one element forward on "
            "rank 1 of B");
}

TEST_F(StateLevel, OneElementIsNamedWithItsPlace) {
  const auto change = [](std::vector<float>& values) { values[14] += 0.5f; };
  EXPECT_THAT(difference(with_values("layers.0.mlp.linear_fc1.weight", "param", 1, change)),
              HasSubstr("differs in 1 of 96 elements"));
  EXPECT_THAT(difference(with_values("layers.0.mlp.linear_fc1.weight", "param", 1, change)),
              HasSubstr("first at [5, 2]: 8.75 in A, 9.25 in B"));
}

TEST_F(StateLevel, WhatOneSideLacksIsNamed) {
  const std::string what = difference([](trace::Segment& segment) {
    const size_t i = index_of(segment, "optimizer", "step");
    segment.records.erase(segment.records.begin() + static_cast<std::ptrdiff_t>(i));
    segment.values.erase(segment.values.begin() + static_cast<std::ptrdiff_t>(i));
  });
  EXPECT_THAT(what, HasSubstr("optimizer step is in A only: without it rebuilt as 0"));
}

TEST_F(StateLevel, AStreamOfOneRankIsNamed) {
  const std::string what = difference([](trace::Segment& segment) {
    if (segment.rank != 3) return;
    const size_t i = index_of(segment, "rng.cpu", "state");
    segment.values[i][3] ^= std::byte{1};
    print_again(segment, i);
  });
  EXPECT_EQ(what, "rng.cpu state is another on rank 3");
}

TEST_F(StateLevel, CopiesThatDifferAreADifference) {
  const std::string what = difference([](trace::Segment& segment) {
    if (segment.rank != 2) return;
    const size_t i = index_of(segment, "bias", "param");
    segment.values[i][1] ^= std::byte{1};
    print_again(segment, i);
  });
  EXPECT_EQ(what,
            "decoder.layers.0.mlp.linear_fc1.bias param in B: ranks 0 and 2 have copies of it that "
            "differ");
}

// A failure that both sides have alike is none between them.
TEST_F(StateLevel, CopiesThatDifferAlikeAreTold) {
  const auto broken = [](trace::Segment& segment) {
    if (segment.rank != 2) return;
    const size_t i = index_of(segment, "bias", "param");
    segment.values[i][1] ^= std::byte{1};
    print_again(segment, i);
  };
  const auto state = compare(kLayout, broken, broken);
  EXPECT_THAT(state.differences, IsEmpty());
  EXPECT_EQ(state.equal, state.tensors);
  EXPECT_THAT(state.broken_alike,
              ElementsAre("decoder.layers.0.mlp.linear_fc1.bias param: ranks 0 and 2 have copies "
                          "of it that differ"));
}

TEST(DifferencesMade, AreThoseOfTensorsThatWereEqual) {
  StateComparison before, after;
  before.differences = {{"a.weight exp_avg", capsule::Kind::kMoments, "is all zero in B"}};
  after.differences = before.differences;
  EXPECT_THAT(differences_made(before, after), IsEmpty());
  after.differences.push_back({"b.weight param", capsule::Kind::kParameters, "differs"});
  const auto made = differences_made(before, after);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].tensor, "b.weight param");
}

TEST_F(StateLevel, NothingIsComparedWithHalfACapsule) {
  write_capsule(a_.path(), kLayout, 4);
  write_capsule(b_.path(), kLayout, 4);
  std::filesystem::remove(trace::segment_path(b_.path(), {4, 2, 0}));
  EXPECT_THROW(compare_state(Capsule(a_.path()), Capsule(b_.path())), trace::Error);
}

}  // namespace
}  // namespace nanhunt::repro
