// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <gtest/gtest.h>

namespace nanhunt::cli {
namespace {

using Names = std::vector<std::string>;

struct Result {
  int status = 0;
  std::string out, err;
};

Result call(const std::vector<std::string>& arguments) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Result result;
  result.status = dispatch(arguments);
  result.out = ::testing::internal::GetCapturedStdout();
  result.err = ::testing::internal::GetCapturedStderr();
  return result;
}

TEST(Command, UnknownOnesAreRefusedWithTheNearest) {
  const Result result = call({"comapre", "a", "b"});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, "nanhunt: no command 'comapre'; did you mean 'compare'?\n");
  EXPECT_EQ(result.out, "");
}

TEST(Command, HelpIsNoError) {
  EXPECT_EQ(call({"help"}).status, 0);
  EXPECT_EQ(call({}).status, 2);
  const Result result = call({"scan", "--help"});
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.out.find("nanhunt scan TRACE"), std::string::npos);
}

TEST(Command, UnknownOptionsAreRefusedWithTheNearest) {
  const Result result = call({"compare", "a", "b", "--same-layot"});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, "nanhunt: unknown option '--same-layot'; did you mean '--same-layout'?\n");
}

TEST(Command, PrefixesAreNotGuessed) {
  EXPECT_EQ(call({"compare", "a", "b", "--same"}).status, 2);
}

TEST(Command, MissingArgumentsAreNamed) {
  const Result result = call({"compare", "a"});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, "nanhunt: `nanhunt compare` needs REFERENCE\n");
}

TEST(Command, AMissingTraceIsUnreadable) {
  const Result result = call({"show", "no/such/trace"});
  EXPECT_EQ(result.status, 3);
  EXPECT_NE(result.err.find("no/such/trace"), std::string::npos);
  EXPECT_EQ(result.err.find("HDF5"), std::string::npos);
}

TEST(Command, BisectTurnsAllButVerdictsIntoCannotTell) {
  EXPECT_EQ(call({"scan", "no/such/trace"}).status, 3);
  EXPECT_EQ(call({"scan", "no/such/trace", "--bisect"}).status, 125);
}

TEST(Command, AMissingCaseIsNamed) {
  const Result result = call({"run", "no/such/case"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("no/such/case.case"), std::string::npos);
}

TEST(Command, BundledCasesAreListedWithTheirSettings) {
  const Result result = call({"cases"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("b01_norm_grad_not_summed"), std::string::npos);
  EXPECT_NE(result.out.find("parallel.tp=2"), std::string::npos);
}

TEST(Command, AGroupOfCasesIsAFolderBesideThem) {
  const Result graded = call({"cases", "graded"});
  EXPECT_EQ(graded.status, 0) << graded.err;
  EXPECT_NE(graded.out.find("one_row"), std::string::npos);
  EXPECT_EQ(graded.out.find("b01_norm_grad_not_summed"), std::string::npos);
  for (const Names& words : {Names{"cases", "gradde"}, Names{"cases", "--check", "gradde"}}) {
    const Result missing = call(words);
    EXPECT_EQ(missing.status, 2);
    EXPECT_NE(missing.err.find("has no group 'gradde'; groups: again graded"), std::string::npos)
        << missing.err;
    EXPECT_NE(missing.err.find("shared_code upgrade; did you mean 'graded'?"), std::string::npos);
  }
  EXPECT_EQ(call({"cases", "data"}).status, 2) << "a folder without case files is no group";
  EXPECT_EQ(call({"cases", "../cases"}).status, 2);
}

TEST(Command, OnlyTakesAListOfCases) {
  const Result two = call({"cases", "--only", "race,clean"});
  EXPECT_EQ(two.status, 0) << two.err;
  EXPECT_NE(two.out.find("race.case"), std::string::npos);
  EXPECT_NE(two.out.find("clean.case"), std::string::npos);
  EXPECT_EQ(two.out.find("fp8_scale.case"), std::string::npos);
  const Result misspelt = call({"cases", "--check", "--only", "race,claen"});
  EXPECT_EQ(misspelt.status, 2);
  EXPECT_NE(misspelt.err.find("no case file 'claen'; did you mean 'clean'?"), std::string::npos);
  EXPECT_EQ(call({"cases", "graded", "--only", "race"}).status, 2);
}

}  // namespace
}  // namespace nanhunt::cli
