// SPDX-License-Identifier: Apache-2.0
#include "ablate/subject.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ablate/test_subject.h"
#include "trace/error.h"

namespace nanhunt::ablate {
namespace {

std::string message_of(const std::string& text) {
  try {
    parse_subject(text, "job.subject");
  } catch (const trace::Error& error) {
    return error.what();
  }
  return "no error";
}

std::string with_toggle(const std::string& lines) {
  return "command = job {toggles}\n[toggle.a]\n" + lines;
}

TEST(Subject, SplitsTheCommandLikeAShell) {
  const Subject subject = test_subject();
  EXPECT_EQ(subject.command, (std::vector<std::string>{"{build}/job", "--steps={steps}",
                                                       "two words", "{toggles}", "{trace}"}));
  EXPECT_EQ(subject.timeout_s, 5);
}

TEST(Subject, ReadsToggles) {
  const Subject subject = test_subject();
  ASSERT_EQ(subject.toggles.size(), 3u);
  EXPECT_EQ(subject.toggles[0].name, "parallel.tp");
  EXPECT_EQ(subject.toggles[0].moves, std::vector<std::string>{"layout.sp"});
  const Need& need = subject.toggles[1].needs.at(0);
  EXPECT_EQ(need.value, "on");
  EXPECT_EQ(need.alternatives.at(0).first, "parallel.tp");
  EXPECT_EQ(need.alternatives.at(0).second, (std::vector<std::string>{"2", "4"}));
  EXPECT_EQ(subject.toggles[2].environment, "JOB_FP8");
  EXPECT_EQ(subject.toggles[2].environment_value, "{value}");
  EXPECT_EQ(subject.toggles[2].effective_values.at("off"),
            (std::vector<std::string>{"none", "bf16"}));
}

TEST(Subject, ReadsParameters) {
  const Subject subject = test_subject();
  ASSERT_EQ(subject.parameters.size(), 2u);
  EXPECT_EQ(subject.find_parameter("seed")->default_value, "7");
  EXPECT_EQ(subject.find_parameter("extra")->default_value, "");
  EXPECT_EQ(subject.find_parameter("parallel.tp"), nullptr);
}

TEST(Subject, HasASeedByNameOrByItsUsualName) {
  const std::string parameters = "[param.seed]\ndefault = 1\n[param.data.seed]\ndefault = 2\n";
  EXPECT_EQ(parse_subject("command = job\n" + parameters, "job.subject").seed, "seed");
  EXPECT_EQ(parse_subject("command = job\nseed = data.seed\n" + parameters, "job.subject").seed,
            "data.seed");
  EXPECT_EQ(parse_subject("command = job\n", "job.subject").seed, "");
  EXPECT_EQ(message_of("command = job\nseed = data.sed\n" + parameters),
            "job.subject:2: seed names the unknown parameter 'data.sed'; did you mean "
            "'data.seed'?");
}

TEST(Subject, RefusesWhatDoesNotFit) {
  EXPECT_EQ(message_of("timeout_s = 3\n"), "job.subject: no command");
  EXPECT_EQ(message_of(with_toggle("values = off on\nreference = of\narg = {value}\n")),
            "job.subject: [toggle.a] reference 'of' is none of its values (off on)");
  EXPECT_EQ(message_of(with_toggle("values = off on\nreference = off\narg = -a\n")),
            "job.subject:5: arg has no {value}");
  EXPECT_EQ(message_of(with_toggle("values = on\nreference = on\narg = {value}\n")),
            "job.subject: [toggle.a] has fewer than two values");
  EXPECT_EQ(message_of(with_toggle("values = off on\nreference = off\narg = {value}\nmoves = b\n")),
            "job.subject: [toggle.a] names the unknown toggle 'b'; did you mean 'a'?");
  EXPECT_EQ(message_of(with_toggle("values = off on\nreference = off\narg = {value}\n")),
            "no error");
}

std::string with_ranks(const std::string& names) {
  return "command = job --ranks={ranks} {toggles}\nranks = " + names +
         "\n[toggle.parallel.tp]\nvalues = 1 2\nreference = 1\n"
         "[toggle.parallel.dp]\nvalues = 1 2\nreference = 1\narg = --dp={value}\n"
         "[toggle.layout.sp]\nvalues = off on\nreference = off\narg = --sp={value}\n";
}

TEST(Subject, TogglesOfTheNumberOfRanksAreWholeNumbers) {
  const Subject subject = parse_subject(with_ranks("parallel.tp parallel.dp"), "job.subject");
  EXPECT_EQ(subject.ranks, (std::vector<std::string>{"parallel.tp", "parallel.dp"}));
  EXPECT_EQ(message_of(with_ranks("parallel.tp paralel.dp")),
            "job.subject:2: ranks names the unknown toggle 'paralel.dp'; did you mean "
            "'parallel.dp'?");
  EXPECT_EQ(message_of(with_ranks("parallel.tp layout.sp")),
            "job.subject:2: ranks names layout.sp, whose value 'off' is no number of ranks");
  // Without {ranks} its value would reach nobody.
  EXPECT_EQ(message_of(with_ranks("parallel.dp")), "job.subject: [toggle.parallel.tp] has no arg");
}

TEST(Subject, SaysHowFailureIsTold) {
  const auto parsed = [](const std::string& failure) {
    return parse_subject("command = job\nfailure = " + failure + "\n", "job.subject");
  };
  EXPECT_EQ(parse_subject("command = job\n", "job.subject").failure, FailureTest::kVerdict);
  EXPECT_EQ(parsed("verdict").failure, FailureTest::kVerdict);
  EXPECT_EQ(parsed("exit").failure, FailureTest::kExit);
  EXPECT_EQ(parsed("check grep 'two words' {stdout}").failure, FailureTest::kCheck);
  EXPECT_EQ(parsed("check grep 'two words' {stdout}").check,
            (std::vector<std::string>{"grep", "two words", "{stdout}"}));
  EXPECT_EQ(message_of("command = job\nfailure = exti\n"),
            "job.subject:2: failure is 'exti'; it may be: verdict, exit, check WORDS...; did you "
            "mean 'exit'?");
  EXPECT_EQ(message_of("command = job\nfailure = exit 3\n"),
            "job.subject:2: failure is 'exit 3'; it may be: verdict, exit, check WORDS...; did you "
            "mean 'exit'?");
  EXPECT_EQ(message_of("command = job\nfailure = check\n"),
            "job.subject:2: failure = check names no command");
}

TEST(Subject, SaysHowItIsCalibrated) {
  const Subject usual = parse_subject("command = job\n", "job.subject");
  EXPECT_EQ(usual.calibrate, Calibrate::kProcess);
  EXPECT_EQ(usual.repeats, std::nullopt);
  const Subject subject =
      parse_subject("command = job\ncalibrate = runs\nrepeats = 3\n", "job.subject");
  EXPECT_EQ(subject.calibrate, Calibrate::kRuns);
  EXPECT_EQ(subject.repeats, 3);
  EXPECT_EQ(message_of("command = job\ncalibrate = run\n"),
            "job.subject:2: calibrate is 'run'; it may be: process, runs; did you mean 'runs'?");
  EXPECT_EQ(message_of("command = job\nrepeats = 2\n"),
            "job.subject:2: repeats is 2; it may be from 3 to 1000");
  EXPECT_EQ(message_of("command = job\nrepeats = few\n"),
            "job.subject:2: repeats is 'few', not a whole number");
  EXPECT_EQ(message_of("command = job\ncalibrat = runs\n"),
            "job.subject:2: unknown key 'calibrat'; did you mean 'calibrate'?");
}

TEST(Subject, ACommandThatCannotBeSplitIsRefusedWithItsLine) {
  EXPECT_THAT(message_of("timeout_s = 3\ncommand = job \\\n"),
              ::testing::StartsWith("job.subject:2: command cannot be split: "));
}

}  // namespace
}  // namespace nanhunt::ablate
