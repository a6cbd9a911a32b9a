// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <gtest/gtest.h>

namespace nanhunt::cli {
namespace {

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

}  // namespace
}  // namespace nanhunt::cli
