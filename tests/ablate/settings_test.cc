// SPDX-License-Identifier: Apache-2.0
#include "ablate/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "tests/ablate/test_subject.h"
#include "trace/error.h"

namespace nanhunt::ablate {
namespace {

std::string message_of(const std::string& name, const std::string& value) {
  const Subject subject = test_subject();
  Settings settings = default_settings(subject);
  try {
    set_value(subject, settings, name, value);
  } catch (const trace::Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Settings, StartAtTheReference) {
  const Settings settings = default_settings(test_subject());
  EXPECT_EQ(settings.at("parallel.tp"), "1");
  EXPECT_EQ(settings.at("seed"), "7");
}

TEST(Settings, RefuseUnknownNamesAndValues) {
  EXPECT_EQ(message_of("paralel.tp", "2"),
            "unknown toggle 'paralel.tp'; did you mean 'parallel.tp'?");
  EXPECT_EQ(message_of("parallel.tp", "3"), "parallel.tp cannot be '3'; it may be: 1 2 4");
  EXPECT_EQ(message_of("parallel.tp", "4"), "no error");
}

TEST(Settings, AValueWithoutItsNeedsHasNoEffect) {
  const Subject subject = test_subject();
  Settings settings = default_settings(subject);
  settings["layout.sp"] = "on";
  EXPECT_EQ(effective_settings(subject, settings).at("layout.sp"), "off");
  settings["parallel.tp"] = "2";
  EXPECT_EQ(effective_settings(subject, settings).at("layout.sp"), "on");
}

TEST(Settings, MakeTheCommandLine) {
  const Subject subject = test_subject();
  Settings settings = default_settings(subject);
  settings["precision.fp8"] = "on";
  settings["parallel.tp"] = "2";
  const CommandLine line = command_line(subject, settings, {"/b", 3, "/t r"});
  EXPECT_EQ(line.words, (std::vector<std::string>{"/b/job", "--steps=3", "two words", "--tp=2",
                                                  "--sp=off", "--seed=7", "/t r"}));
  EXPECT_EQ(line.environment, (std::map<std::string, std::string>{{"JOB_FP8", "on"}}));
}

TEST(Settings, ParametersAloneAreResumedInWordsOfTheirOwn) {
  Subject subject = test_subject();
  subject.resume = {"--load={resume}"};
  Placeholders run{"/b", 3, "/t"};
  run.capsules = {.resume = "/c", .resume_step = 2};
  EXPECT_EQ(command_line(subject, default_settings(subject), run).words.back(), "--load=/c");
  run.capsules.parameters_alone = true;
  EXPECT_THROW(command_line(subject, default_settings(subject), run), trace::Error);
  subject.resume_parameters = {"--load={resume}", "--no-optimizer"};
  EXPECT_EQ(command_line(subject, default_settings(subject), run).words.back(), "--no-optimizer");
}

// Sets NANHUNT_PYTHON, or takes it away, for one test.
class PythonVariable {
 public:
  explicit PythonVariable(const char* value) {
    if (const char* before = std::getenv("NANHUNT_PYTHON")) before_ = before;
    value ? ::setenv("NANHUNT_PYTHON", value, 1) : ::unsetenv("NANHUNT_PYTHON");
  }
  ~PythonVariable() {
    before_ ? ::setenv("NANHUNT_PYTHON", before_->c_str(), 1) : ::unsetenv("NANHUNT_PYTHON");
  }

 private:
  std::optional<std::string> before_;
};

Subject python_subject() {
  return parse_subject(
      "command = {python} -m launch --nproc={ranks} {here}/train.py {unknown} ${{steps}} "
      "{toggles}\n"
      "failure = check {python} {here}/check.py {stdout} {stderr} {trace} {folder} {parallel.tp}\n"
      "ranks = parallel.tp parallel.dp\n"
      "[toggle.parallel.tp]\nvalues = 1 2\nreference = 1\narg = --tp={value}\n"
      "[toggle.parallel.dp]\nvalues = 1 3\nreference = 1\n",
      "sub/jobs/train.subject");
}

TEST(Settings, FillThePlaceholdersOfAPythonJob) {
  const Subject subject = python_subject();
  const std::string here = (std::filesystem::current_path() / "sub/jobs").string();
  Settings settings = default_settings(subject);
  settings["parallel.tp"] = "2";
  settings["parallel.dp"] = "3";
  const PythonVariable unset(nullptr);
  EXPECT_EQ(command_line(subject, settings, {"/b", 4, "/w/trace", "/w"}).words,
            (std::vector<std::string>{"python3", "-m", "launch", "--nproc=6", here + "/train.py",
                                      "{unknown}", "${4}", "--tp=2"}));
  EXPECT_EQ(check_words(subject, settings, {"/b", 4, "/w/trace", "/w"}),
            (std::vector<std::string>{"python3", here + "/check.py", "/w/stdout.txt",
                                      "/w/stderr.txt", "/w/trace", "/w", "2"}));
}

TEST(Settings, ThePythonOfTheEnvironmentIsUsed) {
  const PythonVariable set("/opt/env/bin/python");
  const Subject subject = python_subject();
  const auto words = command_line(subject, default_settings(subject), {"/b", 1, "/t", "/w"}).words;
  EXPECT_EQ(words.front(), "/opt/env/bin/python");
  EXPECT_EQ(words.at(3), "--nproc=1");
}

TEST(Settings, WithoutTogglesForThemThereIsOneRank) {
  const Subject subject = test_subject();
  Settings settings = default_settings(subject);
  settings["parallel.tp"] = "4";
  EXPECT_EQ(rank_count(subject, settings), 1);
}

TEST(Settings, WhatAValueHoldsIsNotFilledInAgain) {
  const Subject subject = parse_subject(
      "command = job {a}\n[toggle.a]\nvalues = {steps} x\nreference = x\n", "job.subject");
  Settings settings = default_settings(subject);
  settings["a"] = "{steps}";
  EXPECT_EQ(command_line(subject, settings, {"/b", 4, "/t"}).words.at(1), "{steps}");
}

TEST(Settings, ListWhatDiffers) {
  const Subject subject = test_subject();
  Settings a = default_settings(subject), b = a;
  EXPECT_TRUE(differing_toggles(subject, a, b).empty());
  a["layout.sp"] = "on";
  a["seed"] = "8";  // no toggle
  EXPECT_EQ(differing_toggles(subject, a, b), std::vector<std::string>{"layout.sp"});
  EXPECT_EQ(describe(subject, a), "layout.sp=on");
  EXPECT_EQ(describe(subject, b), "all at reference");
}

}  // namespace
}  // namespace nanhunt::ablate
