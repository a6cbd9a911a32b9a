// SPDX-License-Identifier: Apache-2.0
#include "ablate/settings.h"

#include <gtest/gtest.h>

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
