// SPDX-License-Identifier: Apache-2.0
#include "bisect/statuses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "trace/error.h"

namespace nanhunt::bisect {
namespace {

using ablate::ChildEnd;
using testing::ElementsAre;

Meaning exit_of(int status, const StatusTable& table = {}) {
  return meaning_of(table, {ChildEnd::kExited, status, 0, ""});
}
Meaning signal_of(int signal, const StatusTable& table = {}) {
  return meaning_of(table, {ChildEnd::kSignalled, signal, 0, ""});
}

TEST(Statuses, AreThoseOfGit) {
  EXPECT_EQ(exit_of(0), Meaning::kGood);
  for (const int status : {1, 2, 124, 126, 127}) EXPECT_EQ(exit_of(status), Meaning::kBad);
  EXPECT_EQ(exit_of(125), Meaning::kUntestable);
  for (const int status : {128, 139, 255}) EXPECT_EQ(exit_of(status), Meaning::kStop);
  EXPECT_EQ(signal_of(SIGSEGV), Meaning::kStop);
  EXPECT_EQ(meaning_of({}, {ChildEnd::kTimedOut, 0, 0, ""}), Meaning::kUntestable);
}

TEST(Statuses, OnlyTheFailureThatIsHuntedIsBadWhenNamed) {
  const StatusTable table{.bad = parse_statuses("3,SIGSEGV"), .timeout = Meaning::kBad};
  EXPECT_EQ(exit_of(3, table), Meaning::kBad);
  EXPECT_EQ(signal_of(SIGSEGV, table), Meaning::kBad);
  EXPECT_EQ(exit_of(139, table), Meaning::kBad) << "as a shell tells of SIGSEGV";
  EXPECT_EQ(exit_of(0, table), Meaning::kGood);
  for (const int status : {1, 2, 125, 137}) EXPECT_EQ(exit_of(status, table), Meaning::kUntestable);
  EXPECT_EQ(signal_of(SIGKILL, table), Meaning::kUntestable);
  EXPECT_EQ(meaning_of(table, {ChildEnd::kTimedOut, 0, 0, ""}), Meaning::kBad);
}

TEST(Statuses, AreReadFromAList) {
  EXPECT_THAT(parse_statuses("1,3..5,SIGABRT"), ElementsAre(1, 3, 4, 5, 134));
  EXPECT_THAT(parse_statuses("124..126"), ElementsAre(124, 126));
  EXPECT_TRUE(parse_statuses("signals").contains(128 + SIGSEGV));
  for (const char* wrong : {"", "0", "256", "5..3", "SIGNAL", "1,,2", "125", "1..", "x", "-1"}) {
    EXPECT_THROW(parse_statuses(wrong), trace::Error) << wrong;
  }
}

}  // namespace
}  // namespace nanhunt::bisect
