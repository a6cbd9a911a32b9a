// SPDX-License-Identifier: Apache-2.0
// What two builds are told otherwise: formulas, facts, and defaults that one alone tells.
#include "repro/configuration_differences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/capsule/small_capsule.h"
#include "tests/compare/trace_builder.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::repro {
namespace {

using compare::test::TraceBuilder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Build {
  std::string norm = R"({"eps":1e-05})", activation = "", update = R"({"eps":1e-08,"step":3})";
  std::string activation_op = "gelu";
  std::string version = "1";
};

void write(const std::filesystem::path& folder, const Build& build) {
  TraceBuilder builder;
  const auto add = [&](compare::test::Tap tap) {
    builder.add(tap, compare::test::normal_values(32, 1), compare::test::copies({2, 4, 4}));
  };
  for (const char* site : {"layers.0.norm", "layers.1.norm"})
    add({.site = site, .op = "rms_norm", .attributes = build.norm});
  add({.site = "act", .op = build.activation_op, .attributes = build.activation});
  add({.site = "fc.weight",
       .phase = trace::Phase::kUpdate,
       .role = "exp_avg",
       .op = "adamw",
       .attributes = build.update});
  builder.facts().front().facts["version"] = build.version;
  builder.write(folder);
}

ConfigurationDifferences differences(const Build& a, const Build& b,
                                     const std::vector<std::string>& intended = {}) {
  const ScratchFolder of_a, of_b;
  write(of_a.path(), a);
  write(of_b.path(), b);
  return compare_configurations(trace::TraceReader(of_a.path()), trace::TraceReader(of_b.path()), 0,
                                intended);
}

TEST(Configurations, OfOneBuildAreTheSame) {
  const auto found = differences({}, {});
  EXPECT_THAT(found.formulas, IsEmpty());
  EXPECT_THAT(found.facts, IsEmpty());
  EXPECT_THAT(found.one_sided, IsEmpty());
}

TEST(Configurations, AnotherDefaultIsAnotherFormula) {
  const Build changed{.norm = R"({"eps":1e-06})"};
  EXPECT_THAT(differences({}, changed).formulas,
              ElementsAre("rms_norm.eps is 1e-05 in A, 1e-06 in B, at layers.0.norm and 1 more"));
  const auto meant = differences({}, changed, {"rms_norm.eps"});
  EXPECT_THAT(meant.formulas, IsEmpty());
  EXPECT_EQ(meant.intended.size(), 1u);
}

TEST(Configurations, OfTheOptimizerCountButItsSteps) {
  EXPECT_THAT(differences({}, {.update = R"({"eps":1e-06,"step":4})"}).formulas,
              ElementsAre("adamw.eps is 1e-08 in A, 1e-06 in B, at fc.weight"));
  EXPECT_THAT(differences({}, {.update = R"({"eps":1e-08,"step":4})"}).formulas, IsEmpty());
}

TEST(Configurations, WhatOneAloneTellsIsNoFormula) {
  const auto found = differences({}, {.norm = R"({"eps":1e-05,"zero_centered":true})"});
  EXPECT_THAT(found.formulas, IsEmpty());
  EXPECT_THAT(found.one_sided, ElementsAre("rms_norm.zero_centered is told by B alone: true, at "
                                           "layers.0.norm and 1 more"));
}

TEST(Configurations, FactsAreTold) {
  EXPECT_THAT(differences({}, {.version = "2"}).facts, ElementsAre("version is 1 in A, 2 in B"));
}

TEST(Configurations, AnotherOpAtASiteIsTold) {
  EXPECT_THAT(differences({}, {.activation_op = "relu"}).facts,
              ElementsAre("op is gelu in A, relu in B, at act"));
}

TEST(Configurations, TheFormOfGeluIsToldWhereItIsAbsent) {
  EXPECT_THAT(differences({}, {.activation = R"({"tanh":true})"}).formulas,
              ElementsAre(HasSubstr("gelu.tanh is false in A, true in B")));
}

}  // namespace
}  // namespace nanhunt::repro
