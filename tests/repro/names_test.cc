// SPDX-License-Identifier: Apache-2.0
// Renamed parameters are known by what they hold; what could be several is told as such.
#include "repro/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/capsule/small_capsule.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::repro {
namespace {

using capsule::Capsule;
using capsule::test::Edit;
using capsule::test::index_of;
using capsule::test::Layout;
using capsule::test::print_again;
using capsule::test::write_capsule;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const std::string kWeight = "decoder.layers.1.mlp.linear_fc1.weight",
                  kOther = "decoder.layers.0.mlp.linear_fc1.weight",
                  kBias = "decoder.layers.0.mlp.linear_fc1.bias";

void rename(trace::Segment& segment, const std::string& from, const std::string& to) {
  for (auto& record : segment.records) {
    if (record.what.site == from) record.what.site = to;
  }
}

void set_values(trace::Segment& segment, const std::string& site, float value) {
  for (size_t i = 0; i < segment.records.size(); ++i) {
    if (segment.records[i].what.site != site) continue;
    std::vector<float> values(segment.values[i].size() / sizeof value, value);
    std::memcpy(segment.values[i].data(), values.data(), segment.values[i].size());
    print_again(segment, i);
  }
}

class Names : public testing::Test {
 protected:
  NameDifferences names(const Edit& in_a, const Edit& in_b, const Layout& of_b = {.tp = 2}) {
    write_capsule(a_.path(), {.tp = 2}, 0, in_a);
    write_capsule(b_.path(), of_b, 0, in_b);
    const Capsule a(a_.path()), b(b_.path());
    return compare_names({{&a, &b}});
  }
  NameDifferences names(const Edit& in_b) { return names({}, in_b); }

  ScratchFolder a_, b_;
};

TEST_F(Names, AreTheSameInEveryLayout) {
  EXPECT_FALSE(names({}, {}, {.tp = 4}).any());
}

TEST_F(Names, ARenamedParameterIsKnownByItsValues) {
  const auto found = names([](auto& segment) { rename(segment, kWeight, "mlp.1.up.weight"); });
  EXPECT_THAT(found.renamed, ElementsAre(Pair(kWeight, "mlp.1.up.weight")));
  EXPECT_THAT(found.only_a, IsEmpty());
  EXPECT_THAT(found.only_b, IsEmpty());
}

TEST_F(Names, OtherValuesAreAnotherParameter) {
  const auto found = names([](auto& segment) {
    rename(segment, kWeight, "mlp.1.up.weight");
    segment.values[index_of(segment, "mlp.1.up.weight", "param")][2] ^= std::byte{1};
    print_again(segment, index_of(segment, "mlp.1.up.weight", "param"));
  });
  EXPECT_THAT(found.renamed, IsEmpty());
  EXPECT_THAT(found.only_a, ElementsAre(kWeight));
  EXPECT_THAT(found.only_b, ElementsAre("mlp.1.up.weight"));
}

// Two tensors with the same values: which is which cannot be told.
TEST_F(Names, NothingIsGuessedBetweenTwins) {
  const auto twins = [](auto& segment) {
    const size_t from = index_of(segment, kOther, "param"),
                 to = index_of(segment, kWeight, "param");
    segment.values[to] = segment.values[from];
    print_again(segment, to);
  };
  const auto found = names(twins, [&](auto& segment) {
    twins(segment);
    rename(segment, kOther, "first.weight");
    rename(segment, kWeight, "second.weight");
  });
  EXPECT_THAT(found.renamed, IsEmpty());
  EXPECT_THAT(found.guessed, IsEmpty());
  EXPECT_THAT(found.only_a, ElementsAre(kOther, kWeight));
  EXPECT_THAT(found.only_b, ElementsAre("first.weight", "second.weight"));
}

TEST_F(Names, AConstantIsAGuess) {
  const auto ones = [](auto& segment) { set_values(segment, kBias, 1); };
  const auto found = names(ones, [&](auto& segment) {
    ones(segment);
    rename(segment, kBias, "norm.weight");
  });
  EXPECT_THAT(found.renamed, IsEmpty());
  EXPECT_THAT(found.guessed, ElementsAre(Pair(kBias, "norm.weight")));
}

// After some steps it is no constant any more.
TEST_F(Names, ALaterCapsuleTellsAConstantApart) {
  const auto renamed = [](auto& segment) { rename(segment, kBias, "norm.weight"); };
  const auto ones = [](auto& segment) { set_values(segment, kBias, 1); };
  write_capsule(a_.path(), {.tp = 2}, 0, ones);
  write_capsule(a_.path(), {.tp = 2}, 2);
  write_capsule(b_.path(), {.tp = 2}, 0, [&](auto& segment) {
    ones(segment);
    renamed(segment);
  });
  write_capsule(b_.path(), {.tp = 2}, 2, renamed);
  const Capsule a(a_.path(), 0), b(b_.path(), 0), later_a(a_.path(), 2), later_b(b_.path(), 2);
  EXPECT_THAT(compare_names({{&a, &b}, {&later_a, &later_b}}).renamed,
              ElementsAre(Pair(kBias, "norm.weight")));
}

trace::Step step_with(std::vector<std::pair<std::string, std::string>> sites_and_roles) {
  trace::Step step;
  for (auto& [site, role] : sites_and_roles) {
    step.records.emplace_back();
    step.records.back().what.site = site;
    step.records.back().what.role = role;
  }
  return step;
}

TEST(Sites, ThoseOfOneAloneAreToldByKind) {
  const auto a = step_with({{"layers.0.fc", "output"}, {"layers.0.fc.weight", "param"}}),
             b = step_with(
                 {{"layers.0.fc", "output"}, {"layers.0.drop", "mask"}, {"layers.1.drop", "mask"}});
  EXPECT_THAT(compare_sites(a, b).only_a, IsEmpty());  // a parameter is no site of its own
  EXPECT_THAT(compare_sites(a, b).only_b, ElementsAre("layers.*.drop"));
  EXPECT_THAT(compare_sites(a, a).only_b, IsEmpty());
}

}  // namespace
}  // namespace nanhunt::repro
