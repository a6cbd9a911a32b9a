// SPDX-License-Identifier: Apache-2.0
#include "ablate/subject.h"

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
  EXPECT_EQ(message_of("command = job\nfailure = exit\n"),
            "job.subject:2: failure is 'exit'; it may be: verdict");
  EXPECT_EQ(message_of(with_toggle("values = off on\nreference = off\narg = {value}\n")),
            "no error");
}

}  // namespace
}  // namespace nanhunt::ablate
