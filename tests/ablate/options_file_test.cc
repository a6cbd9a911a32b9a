// SPDX-License-Identifier: Apache-2.0
#include "ablate/options_file.h"

#include <gtest/gtest.h>

#include "trace/error.h"

namespace nanhunt::ablate {
namespace {

const std::vector<Leaf> kSchema = {
    {"level"}, {"steps"}, {"set.*"}, {"toggle.*.values"}, {"toggle.*.needs", true}};

std::string message_of(const std::string& text) {
  try {
    parse_options_text(text, "x.case", kSchema);
  } catch (const trace::Error& error) {
    EXPECT_EQ(error.kind(), trace::ErrorKind::kUsage);
    return error.what();
  }
  return "no error";
}

TEST(OptionsFile, ReadsSectionsStarsAndLines) {
  const OptionsFile file = parse_options_text(
      "# a comment\nlevel = stats  # another\n\n[set]\nparallel.tp = 2\n"
      "[toggle.layout.sp]\nvalues = off on\n",
      "x.case", kSchema);
  ASSERT_EQ(file.entries.size(), 3u);
  EXPECT_EQ(file.entries[0].pattern, "level");
  EXPECT_EQ(file.entries[0].value, "stats");
  EXPECT_EQ(file.entries[0].line, 2);
  EXPECT_EQ(file.entries[1].pattern, "set.*");
  EXPECT_EQ(file.entries[1].name, "parallel.tp");
  EXPECT_EQ(file.entries[1].line, 5);
  EXPECT_EQ(file.entries[2].pattern, "toggle.*.values");
  EXPECT_EQ(file.entries[2].name, "layout.sp");
  EXPECT_EQ(file.entries[2].value, "off on");
  EXPECT_EQ(file.entries[2].line, 7);
}

TEST(OptionsFile, RefusesAnUnknownKeyWithLineAndNearestName) {
  EXPECT_EQ(message_of("steps = 3\nlevl = stats\n"),
            "x.case:2: unknown key 'levl'; did you mean 'level'?");
  EXPECT_EQ(message_of("[toggle.layout.sp]\nvaluess = off on\n"),
            "x.case:2: unknown key 'toggle.layout.sp.valuess'; did you mean 'values'?");
  EXPECT_EQ(message_of("[sett]\na = 1\n"), "x.case:2: unknown key 'sett.a'; did you mean 'set'?");
}

TEST(OptionsFile, DoesNotGuessPrefixes) {
  EXPECT_NE(message_of("leve = stats\n"), "no error");
  EXPECT_EQ(message_of("level = stats\n"), "no error");
}

TEST(OptionsFile, RefusesASecondValueUnlessMany) {
  EXPECT_EQ(message_of("level = stats\n\nlevel = full\n"),
            "x.case:3: 'level' is given twice, first in line 1");
  EXPECT_EQ(message_of("[toggle.a]\nneeds = x\nneeds = y\n"), "no error");
}

TEST(OptionsFile, RefusesALineThatIsNoOption) {
  EXPECT_TRUE(
      message_of("level = stats\n\nthis is no option\nsteps = 1\n").starts_with("x.case:3: "))
      << message_of("level = stats\n\nthis is no option\nsteps = 1\n");
  EXPECT_TRUE(message_of("level = stats\nno option at the end").starts_with("x.case:2: "));
}

TEST(OptionsFile, NumbersAreWholeOrRefused) {
  const OptionsFile file = parse_options_text("steps = 3x\n[set]\na = 12\n", "x.case", kSchema);
  EXPECT_THROW(integer_of(file, file.entries[0]), trace::Error);
  EXPECT_EQ(integer_of(file, file.entries[1]), 12);
}

TEST(OptionsFile, NamesAFileThatIsNotThere) {
  EXPECT_THROW(read_options_file("not/there.case", kSchema), trace::Error);
}

}  // namespace
}  // namespace nanhunt::ablate
