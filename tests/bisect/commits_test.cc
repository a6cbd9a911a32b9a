// SPDX-License-Identifier: Apache-2.0
// `nanhunt bisect --commits` on a repository that is made here: 64 commits, each writes its number.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/e2e/program.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::e2e {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;
using Words = std::vector<std::string>;

class Commits : public testing::Test {
 protected:
  void SetUp() override {
    write(folder_ / "make.sh",
          "set -e\ngit init -q repo\ncd repo\n"
          "g() { git -c user.name=a -c user.email=a@b -c commit.gpgsign=false \"$@\"; }\n"
          "for i in $(seq 0 63); do echo $i > number; g add number; g commit -qm \"number $i\"; "
          "done\n");
    const Ended made = run({"sh", "-c", "cd '" + folder_.path().string() + "' && sh make.sh"});
    ASSERT_EQ(made.status, 0) << made.errors;
  }
  std::string git(const std::string& words) {
    return run({"sh", "-c", "git -C '" + (folder_ / "repo").string() + "' " + words}).output;
  }
  Ended bisect(const std::string& script, const std::string& range = "HEAD~63..HEAD",
               Words more = {}) {
    more.insert(more.begin(), {"bisect", "--commits", range, "--repository", folder_ / "repo",
                               "--out", folder_ / "out"});
    more.insert(more.end(), {"--", "sh", "-c", script});
    return nanhunt(more);
  }
  ScratchFolder folder_;
};

TEST_F(Commits, AreCheckedOutForEachRun) {
  const std::string head = git("rev-parse HEAD"), number = git("rev-parse HEAD~20");
  const Ended ended = bisect(
      "test $(cat number) -lt 43 && test $(git rev-parse HEAD) = "
      "$NANHUNT_ITEM");
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_THAT(ended.output, StartsWith("First bad: item 44 of 64, " +
                                       number.substr(0, number.size() - 1) + " (number 43)"));
  EXPECT_THAT(ended.output, HasSubstr("Runs: 8 of 8 items"));
  EXPECT_EQ(git("rev-parse HEAD"), head);
  EXPECT_EQ(git("status --porcelain"), "");
  const std::string worktrees = git("worktree list");
  EXPECT_EQ(std::count(worktrees.begin(), worktrees.end(), '\n'), 1) << worktrees;
  EXPECT_FALSE(fs::exists(folder_ / "out/checkout"));
}

TEST_F(Commits, AreFoundWhereverTheChangeIs) {
  for (const int change : {1, 17, 63}) {
    const Ended ended = bisect("test $(cat number) -lt " + std::to_string(change));
    EXPECT_THAT(ended.output, HasSubstr("(number " + std::to_string(change) + "): exit status 1"));
  }
  EXPECT_EQ(bisect("test $(cat number) -lt 0").status, 3);
  EXPECT_EQ(bisect("test $(cat number) -lt 64").status, 3);
}

// What one run leaves is not there in the next one.
TEST_F(Commits, AreCleanInEachRun) {
  const Ended ended = bisect("test ! -e built && touch built && test $(cat number) -lt 9");
  EXPECT_THAT(ended.output, HasSubstr("(number 9): exit status 1"));
}

TEST_F(Commits, ThatCannotBeTestedAreCandidates) {
  const Ended ended =
      bisect("n=$(cat number); test $n -ge 30 && test $n -lt 35 && exit 125; test $n -lt 33");
  EXPECT_EQ(ended.status, 125);
  EXPECT_THAT(ended.output, StartsWith("Undecided: the first bad item is one of 6"));
}

TEST_F(Commits, AreCommandedAgainAsShown) {
  const Ended ended = bisect("test $(cat number) -lt 43");
  for (const auto& [side, status] : {std::pair{"  good: ", 0}, std::pair{"  bad:  ", 1}}) {
    const size_t at = ended.output.find(side) + 8;
    const std::string command = ended.output.substr(at, ended.output.find('\n', at) - at);
    EXPECT_EQ(run({"sh", "-c", command}).status, status) << command;
  }
}

// A search that was killed leaves its checkout; the next one removes it.
TEST_F(Commits, GoOnAfterAKill) {
  const std::string flag = folder_ / "cut";
  write(flag, "");
  const std::string script =
      "test -e '" + flag + "' && rm '" + flag + "' && kill -KILL $PPID; test $(cat number) -lt 43";
  EXPECT_EQ(bisect(script).status, 128 + 9);
  EXPECT_EQ(bisect(script).status, 0);
}

TEST_F(Commits, AreRefusedWhereTheyAreNoHistory) {
  const Ended reversed = bisect("true", "HEAD..HEAD~9");
  EXPECT_EQ(reversed.status, 3);
  EXPECT_THAT(reversed.errors, HasSubstr("HEAD~9 does not descend from HEAD"));
  EXPECT_EQ(bisect("true", "nothing..HEAD").status, 3);
  EXPECT_EQ(bisect("true", "HEAD").status, 2);
  EXPECT_EQ(bisect("true", "HEAD~9...HEAD").status, 2);
  EXPECT_EQ(bisect("true", "HEAD..HEAD").status, 2);
  const Ended missing = nanhunt({"bisect", "--commits", "HEAD~1..HEAD", "--repository",
                                 folder_ / "repo", "--out", folder_ / "out", "--", "./check.sh"});
  EXPECT_EQ(missing.status, 3);
  EXPECT_THAT(missing.errors, HasSubstr("needs an absolute path"));
}

}  // namespace
}  // namespace nanhunt::e2e
