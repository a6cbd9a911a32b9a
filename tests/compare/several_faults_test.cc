// SPDX-License-Identifier: Apache-2.0
// Several independent faults come out of one pass, each an origin, whatever ranks and phases they
// are on; in an order that no clock has a part in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "compare/judge.h"
#include "compare/judge_sources.h"
#include "tests/compare/small_model.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::compare::test {
namespace {

using trace::Phase;

struct Place {
  const char* site;
  Phase phase;
  const char* role;
  int rank;
};

// No one of them feeds another.
constexpr Place kPlaces[] = {{"norm", Phase::kForward, "output", 0},
                             {"fc1", Phase::kForward, "output", 1},
                             {"norm.weight", Phase::kUnscaled, "grad", 1},
                             {"tail", Phase::kClipped, "grad", 0}};

bool is_at(const Tap& tap, const Place& place) {
  return tap.site == place.site && tap.phase == place.phase && tap.role == place.role &&
         tap.rank == place.rank;
}

// By bits: which places hold a fault.
class SeveralFaults : public testing::TestWithParam<int> {
 protected:
  SmallModel model(float planted) const {
    SmallModel model{.tp = 2};
    model.edit = [=, set = GetParam()](const Tap& tap, Values& values) {
      for (int i = 0; i < 4; ++i) {
        if ((set >> i & 1) != 0 && is_at(tap, kPlaces[i])) values[0] = planted;
      }
    };
    return model;
  }

  bool is_planted(int place) const { return (GetParam() >> place & 1) != 0; }
};

// Forward comes before what an optimizer does, by data and not by name.
void expect_in_order(const Verdict& verdict) {
  for (size_t i = 1; i < verdict.origins.size(); ++i)
    EXPECT_LE(verdict.origins[i - 1].finding.what.phase, verdict.origins[i].finding.what.phase);
}

TEST_P(SeveralFaults, NansAreOneOriginEach) {
  const TraceBuilder builder = build(model(NAN));
  const Verdict verdict = judge_sources(builder.source(), nullptr, thresholds(), {});
  std::vector<std::string> found, expected;
  for (const Origin& origin : verdict.origins) {
    for (const int32_t rank : origin.finding.ranks)
      found.push_back(origin.finding.what.site + " " + std::to_string(rank));
  }
  for (int i = 0; i < 4; ++i) {
    if (is_planted(i))
      expected.push_back(std::string(kPlaces[i].site) + " " + std::to_string(kPlaces[i].rank));
  }
  EXPECT_THAT(found, testing::UnorderedElementsAreArray(expected)) << to_text(verdict);
  expect_in_order(verdict);
}

// The reference judges logical tensors: fc1's, of which a part was made of a wrong norm, is no
// origin beside that norm.
TEST_P(SeveralFaults, DeviationsAreOneOriginEach) {
  SmallModel deviating = model(1000);
  deviating.noise = 1e-3;
  const TraceBuilder mine = build(deviating), other = build({});
  const auto candidate = mine.source("candidate"), trusted = other.source("reference");
  const auto envelope = envelope_around(trusted, 1e-3);
  JudgeOptions options;
  options.envelope = &envelope;
  const Verdict verdict = judge_sources(candidate, &trusted, thresholds(), options);
  std::vector<std::string> found, expected;
  for (const Origin& origin : verdict.origins) found.push_back(origin.finding.what.site);
  for (int i = 0; i < 4; ++i) {
    if (is_planted(i) && !(i == 1 && is_planted(0))) expected.emplace_back(kPlaces[i].site);
  }
  EXPECT_THAT(found, testing::UnorderedElementsAreArray(expected)) << to_text(verdict);
  expect_in_order(verdict);
}

// Set 0 is the twin without a fault.
INSTANTIATE_TEST_SUITE_P(NoneToFour, SeveralFaults, testing::Range(0, 16));

// The files of each rank an hour later than those of the rank before, or earlier.
nlohmann::json verdict_at(std::chrono::hours later) {
  SmallModel model{.tp = 2};
  model.edit = [](const Tap& tap, Values& values) {
    if (is_at(tap, kPlaces[1]) || is_at(tap, kPlaces[3])) values[0] = NAN;
  };
  const ScratchFolder folder;
  build(model).write(folder.path());
  auto when = std::filesystem::file_time_type::clock::now();
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    if (!entry.is_regular_file()) continue;
    std::filesystem::last_write_time(entry.path(), when += later);
    ++files;
  }
  EXPECT_GE(files, 2);
  const trace::TraceReader reader(folder.path());
  auto json = to_json(scan(reader, thresholds(), {}));
  json.erase("candidate");
  json.erase("next_command");
  return json;
}

TEST(Clocks, AnHourOffChangesNothing) {
  const auto even = verdict_at(std::chrono::hours(0));
  EXPECT_EQ(even["origins"].size(), 2u) << even.dump(1);
  EXPECT_EQ(verdict_at(std::chrono::hours(1)), even);
  EXPECT_EQ(verdict_at(std::chrono::hours(-1)), even);
}

}  // namespace
}  // namespace nanhunt::compare::test
