// SPDX-License-Identifier: Apache-2.0
// Reading results: what each command leaves is taken, all else is refused in one line.
#include "report/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ablate/trials_json.h"
#include "compare/verdict_words.h"
#include "tests/report/example_results.h"
#include "trace/error.h"

namespace nanhunt::report::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

std::string refusal_of(const std::filesystem::path& path) {
  try {
    read_result(path);
  } catch (const trace::Error& error) {
    EXPECT_EQ(error.kind(), trace::ErrorKind::kUnreadable);
    EXPECT_THAT(error.what(), HasSubstr(path.string()));
    EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    return error.what();
  }
  return "taken";
}

HuntResult read_hunt(const std::filesystem::path& path) {
  return std::get<HuntResult>(read_result(path).content);
}

TEST(Result, OfAHuntIsItsFolderOrItsFile) {
  const Folder folder;
  ablate::Hunt hunt;
  hunt.verdict = run_result().verdict;
  hunt.trials = run_result().trials;
  const auto file = folder.write("verdict.json", ablate::to_json(hunt).dump(2));
  for (const auto& path : {folder.path(), file}) {
    EXPECT_EQ(read_result(path).file, file);
    const HuntResult result = read_hunt(path);
    EXPECT_EQ(compare::ticket(result.verdict), compare::ticket(hunt.verdict));
    ASSERT_EQ(result.trials.size(), 3U);
    EXPECT_EQ(result.trials[2].verdict.reason, "no effect here");
    EXPECT_EQ(result.trials[1].verdict.result, ablate::TrialResult::kFail);
  }
}

TEST(Result, OfAblateHoldsTheVerdictBesideTheTrials) {
  const Folder folder;
  const HuntResult whole = run_result();
  const json printed{{"trials", ablate::to_json(whole.trials)},
                     {"verdict", compare::to_json(whole.verdict)}};
  const HuntResult result = read_hunt(folder.write("ablation.json", printed.dump()));
  EXPECT_EQ(compare::ticket(result.verdict), compare::ticket(whole.verdict));
  EXPECT_EQ(result.trials.size(), 3U);
}

TEST(Result, OfCompareHasNoTrials) {
  const Folder folder;
  const auto file = folder.write("c.json", compare::to_json(nan_verdict()).dump());
  EXPECT_EQ(read_hunt(file).verdict.kind, compare::VerdictKind::kNonFinite);
  EXPECT_TRUE(read_hunt(file).trials.empty());
}

TEST(Result, WhatIsNoneIsRefused) {
  const Folder folder;
  EXPECT_THAT(refusal_of(folder.path() / "none"), HasSubstr("no such file or folder"));
  EXPECT_THAT(refusal_of(folder.path()), HasSubstr("holds no verdict.json"));
  EXPECT_THAT(refusal_of(folder.write("a", "not json")), HasSubstr("no JSON"));
  EXPECT_THAT(refusal_of(folder.write("b", "[1]")), HasSubstr("no JSON object"));
  EXPECT_THAT(refusal_of(folder.write("c", "{}")), HasSubstr("it has no 'schema'"));
  EXPECT_THAT(refusal_of(folder.write("d", "")), HasSubstr("no JSON"));
}

TEST(Result, EachKeyIsNeededAndChecked) {
  const Folder folder;
  const json whole = compare::to_json(nan_verdict());
  EXPECT_EQ(refusal_of(folder.write("whole", whole.dump())), "taken");
  const auto without = [&](const char* key) {
    json object = whole;
    object.erase(key);
    return refusal_of(folder.write("without", object.dump()));
  };
  for (const char* key : {"verdict", "origins", "coverage", "thresholds_sha256"}) {
    EXPECT_THAT(without(key), HasSubstr("it has no '" + std::string(key) + "'"));
  }
  // Results had none of these at first.
  for (const char* key : {"measurements", "losses", "thresholds"}) EXPECT_EQ(without(key), "taken");
  json other = whole;
  other["coverage"]["sites_fired"] = "many";
  EXPECT_THAT(refusal_of(folder.write("type", other.dump())), HasSubstr("must be number"));
  other = whole;
  other["origins"][0]["finding"]["phase"] = "sideways";
  EXPECT_THAT(refusal_of(folder.write("phase", other.dump())), HasSubstr("'sideways'"));
  other = whole;
  other["trials"] = {{{"trial", "off a"}, {"result", "maybe"}, {"reason", ""}, {"seconds", 1}}};
  EXPECT_THAT(refusal_of(folder.write("trial", other.dump())), HasSubstr("'maybe'"));
}

TEST(Result, AnotherSchemaIsRefused) {
  const Folder folder;
  json object = compare::to_json(clean_verdict());
  object["schema"] = 2;
  EXPECT_THAT(refusal_of(folder.write("new", object.dump())),
              HasSubstr("its schema is 2, and this program reads 1"));
  object["schema"] = 1;
  EXPECT_EQ(refusal_of(folder.write("now", object.dump())), "taken");
}

}  // namespace
}  // namespace nanhunt::report::test
