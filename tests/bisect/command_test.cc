// SPDX-License-Identifier: Apache-2.0
// `nanhunt bisect` as a user starts it: lists and ranges, what a run may end in, the ledger.
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
using testing::Not;
using testing::StartsWith;
using Words = std::vector<std::string>;

constexpr int kFound = 0, kUsage = 2, kWrongEnds = 3, kUndecided = 125;

class Bisect : public testing::Test {
 protected:
  // A test of an item, whose number is $1; it also keeps a list of what was run.
  void check_is(const std::string& body) {
    write(folder_ / "check.sh", "echo $1 >> '" + (folder_ / "log").string() + "'\n" + body + "\n");
  }
  Ended bisect(Words options, const Words& command = {}) {
    options.insert(options.begin(), "bisect");
    options.insert(options.end(), {"--out", (folder_ / "out").string(), "--"});
    const Words usual = {"sh", (folder_ / "check.sh").string(), "{item}"};
    const Words& words = command.empty() ? usual : command;
    options.insert(options.end(), words.begin(), words.end());
    return nanhunt(options);
  }
  json told(Words options) {
    options.push_back("--json");
    return json::parse(bisect(options).output);
  }
  int64_t runs() {
    const std::string log = read(folder_ / "log");
    return std::count(log.begin(), log.end(), '\n');
  }
  ScratchFolder folder_;
};

TEST_F(Bisect, FindsTheFirstBadItem) {
  check_is("test $1 -lt 43");
  const Ended ended = bisect({"--range", "0..63"});
  EXPECT_EQ(ended.status, kFound) << ended.errors;
  EXPECT_THAT(ended.output, StartsWith("First bad: item 44 of 64, 43: exit status 1\n"
                                       "Last good: item 43 of 64, 42: exit status 0\n"));
  EXPECT_EQ(runs(), 8);
  EXPECT_THAT(ended.errors, StartsWith("nanhunt: price: 64 items, at most 8 tried"));
  EXPECT_THAT(ended.output, HasSubstr("\n  bad:  NANHUNT_ITEM=43 sh "));
  const json result = told({"--range", "0..63"});
  EXPECT_EQ(result["outcome"], "found");
  EXPECT_EQ(result["first_bad"]["item"], "43");
  EXPECT_EQ(result["last_good"]["item"], "42");
  EXPECT_EQ(result["runs"], 8);
  EXPECT_EQ(result["price"]["runs"], 8);
}

TEST_F(Bisect, TellsTheCommandWhichItemAndRun) {
  write(folder_ / "list", "# good ones first\nlr 1\nlr 2\n\nlr 3\n");
  const std::string script = "echo \"$NANHUNT_ITEM,$NANHUNT_RUN,$0\"; test \"$0\" = 'lr 1'";
  EXPECT_EQ(bisect({"--list", (folder_ / "list").string()}, {"sh", "-c", script, "{item}"}).status,
            kFound);
  EXPECT_EQ(read(folder_ / "out/runs/2-1.out"), "lr 2,1,lr 2\n");
}

TEST_F(Bisect, NamesWrongEnds) {
  check_is("test $1 -lt $LIMIT");
  const auto at = [&](const std::string& limit) {
    write(folder_ / "check.sh", "test $1 -lt " + limit + "\n");
    return bisect({"--range", "10..20"});
  };
  EXPECT_EQ(at("15").status, kFound);
  const Ended before = at("5"), after = at("25");
  EXPECT_EQ(before.status, kWrongEnds);
  EXPECT_THAT(before.output, StartsWith("Wrong ends: the first item is bad already"));
  EXPECT_EQ(after.status, kWrongEnds);
  EXPECT_THAT(after.output, StartsWith("Wrong ends: the last item is good"));
  write(folder_ / "check.sh", "test $1 -gt 15\n");
  EXPECT_THAT(bisect({"--range", "10..20"}).output, HasSubstr("upside down?"));
  EXPECT_EQ(bisect({"--range", "20..10"}).status, kFound);
  write(folder_ / "check.sh", "no-such-command-anywhere\n");
  EXPECT_THAT(bisect({"--range", "1..9"}).output, HasSubstr("when it cannot run a command"));
}

TEST_F(Bisect, KeepsUntestableItemsApart) {
  check_is("test $1 -ge 20 && test $1 -lt 30 && exit 125; test $1 -lt 25");
  const Ended ended = bisect({"--range", "0..63"});
  EXPECT_EQ(ended.status, kUndecided);
  EXPECT_THAT(ended.output, StartsWith("Undecided: the first bad item is one of 11"));
  EXPECT_THAT(ended.output, Not(HasSubstr("First bad:")));
  EXPECT_THAT(ended.output, HasSubstr("Cannot be tested: 10 items"));
  const json result = told({"--range", "0..63"});
  EXPECT_EQ(result["candidates"].size(), 11u);
  EXPECT_TRUE(result["first_bad"].is_null());
  check_is("test $1 -ge 20 && test $1 -lt 30 && exit 125; test $1 -lt 50");
  EXPECT_EQ(told({"--range", "0..63"})["first_bad"]["item"], "50");
}

TEST_F(Bisect, DoesNotHideAGoodItemAfterABadOne) {
  check_is("test $1 -lt 5 || { test $1 -gt 20 && test $1 -lt 40; }");
  const Ended ended = bisect({"--range", "0..63", "--survey", "7"});
  EXPECT_EQ(ended.status, kFound);
  EXPECT_THAT(ended.output, StartsWith("First bad: item 6 of 64, 5:"));
  EXPECT_THAT(ended.output, HasSubstr("Not monotonic: good again after item 6"));
  check_is("test $1 -lt 5");
  EXPECT_THAT(bisect({"--range", "0..63", "--survey", "7"}).output,
              Not(HasSubstr("Not monotonic")));
}

TEST_F(Bisect, StopsAtACrashUnlessItIsWhatIsHunted) {
  check_is("test $1 -lt 6 || kill -SEGV $$");
  const Ended stopped = bisect({"--range", "0..9"});
  EXPECT_EQ(stopped.status, kUndecided);
  EXPECT_THAT(stopped.output, HasSubstr("killed by SIGSEGV"));
  const Ended found = bisect({"--range", "0..9", "--bad", "SIGSEGV"});
  EXPECT_EQ(found.status, kFound) << found.output;
  EXPECT_THAT(found.output, StartsWith("First bad: item 7 of 10, 6: killed by SIGSEGV\n"));
}

TEST_F(Bisect, ATimeOutTellsNothingUnlessSaidOtherwise) {
  check_is("test $1 = 2 && exec sleep 1000; test $1 -lt 2");
  const Words options = {"--range", "1..3", "--timeout", "4"};
  const Ended open = bisect(options);
  EXPECT_EQ(open.status, kUndecided);
  EXPECT_THAT(open.output, HasSubstr("candidate: item 2 of 3, 2: no end within its time limit"));
  Words bad = options;
  bad.insert(bad.end(), {"--timeout-is", "bad"});
  EXPECT_THAT(bisect(bad).output, StartsWith("First bad: item 2 of 3, 2:"));
}

TEST_F(Bisect, TakesSeveralRunsWhereFailuresAreFlaky) {
  check_is("test $1 -lt 40 || test $((NANHUNT_RUN % 2)) = 1");
  EXPECT_THAT(bisect({"--range", "0..63"}).output, StartsWith("Wrong ends: the last item is good"));
  const Ended ended = bisect({"--range", "0..63", "--fails-at-least", "0.5"});
  EXPECT_EQ(ended.status, kFound) << ended.output;
  EXPECT_THAT(ended.output, StartsWith("First bad: item 41 of 64, 40: 1 failure in 2 runs"));
  EXPECT_THAT(ended.output, HasSubstr("Error: at most "));
  EXPECT_THAT(ended.errors, HasSubstr("at most 136 runs"));
}

TEST_F(Bisect, TellsThePriceAndRunsNothing) {
  check_is("exit 1");
  const Ended ended = bisect({"--range", "0..63", "--fails-at-least", "0.5", "--price"});
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.output, HasSubstr("at most 136 runs"));
  EXPECT_EQ(runs(), 0);
}

// Cut in run k + 1, by Ctrl-C and by a kill.
TEST_F(Bisect, GoesOnFromItsLedger) {
  const Words options = {"--range", "0..63", "--ledger", folder_ / "ledger"};
  const std::string log = folder_ / "log", cut = folder_ / "cut";
  // After a kill nobody is left to end the script.
  check_is("if test -f '" + cut + "' && test $(wc -l < '" + log + "') -gt $(cat '" + cut +
           "'); then\n  rm '" + cut + "'\n  signal=$(cat '" + (folder_ / "signal").string() +
           "')\n  kill -$signal $PPID\n  test $signal = KILL && exit 1\n  exec sleep 1000\nfi\n"
           "test $1 -lt 43");
  for (const char* signal : {"INT", "KILL"}) {
    for (int k = 0; k < 8; ++k) {
      for (const char* file : {"ledger", "log"}) fs::remove(folder_ / file);
      write(folder_ / "signal", signal);
      write(cut, std::to_string(k));
      EXPECT_GT(bisect(options).status, 128) << signal << k;
      const Ended ended = bisect(options);
      EXPECT_EQ(ended.status, kFound) << ended.errors;
      EXPECT_THAT(ended.output, StartsWith("First bad: item 44 of 64, 43:"));
      EXPECT_THAT(ended.output, HasSubstr(std::to_string(k) + " of them from the ledger"));
      EXPECT_EQ(runs(), 8 + 1) << "the run that was cut alone is made again";
    }
  }
  bisect(options);
  EXPECT_EQ(runs(), 9) << "nothing is left to run";
  bisect({"--range", "0..63"});
  EXPECT_EQ(runs(), 17) << "without the ledger all is";
}

TEST_F(Bisect, JudgesTheLedgersRunsAnew) {
  check_is("test $1 -lt 5 || exit 3");
  const Words options = {"--range", "0..9", "--ledger", folder_ / "ledger"};
  EXPECT_EQ(bisect(options).status, kFound);
  const int64_t made = runs();
  Words other = options;
  other.insert(other.end(), {"--bad", "4"});
  EXPECT_THAT(bisect(other).output, HasSubstr("an end cannot be tested"));
  EXPECT_EQ(runs(), made);
}

TEST_F(Bisect, RefusesTheLedgerOfAnotherSearch) {
  check_is("test $1 -lt 5");
  const std::string ledger = folder_ / "ledger";
  EXPECT_EQ(bisect({"--range", "0..9", "--ledger", ledger}).status, kFound);
  const Ended list = bisect({"--range", "0..8", "--ledger", ledger});
  EXPECT_EQ(list.status, kUsage);
  EXPECT_THAT(list.errors, HasSubstr(ledger + ": the ledger of another list (10 items, 0 to 9)"));
  const Ended command = bisect({"--range", "0..9", "--ledger", ledger}, {"true"});
  EXPECT_EQ(command.status, kUsage);
  EXPECT_THAT(command.errors, HasSubstr("the ledger of another command"));
}

TEST_F(Bisect, RefusesWhatItCannotDo) {
  check_is("test $1 -lt 5");
  for (const Words& wrong :
       {Words{}, Words{"--range", "1..9", "--list", "x"}, Words{"--range", "1"},
        Words{"--range", "1..9", "--bad", "0"}, Words{"--range", "1..9", "--timeout", "nan"},
        Words{"--range", "1..9", "--error", "0"}, Words{"--range", "1..9", "--rnage", "2"},
        Words{"--range", "1..9", "--survey", "-1"},
        Words{"--range", "1..9", "--timeout-is", "late"}}) {
    const Ended ended = bisect(wrong);
    EXPECT_EQ(ended.status, kUsage) << joined(wrong);
    EXPECT_EQ(std::count(ended.errors.begin(), ended.errors.end(), '\n'), 1) << ended.errors;
  }
  EXPECT_EQ(nanhunt({"bisect", "--range", "1..9"}).status, kUsage);
  EXPECT_EQ(bisect({"--list", "no/such/list"}).status, 3);
  const Ended missing = bisect({"--range", "1..9"}, {"no-such-program-anywhere"});
  EXPECT_EQ(missing.status, 3);
  EXPECT_THAT(missing.errors, HasSubstr("cannot start: 'no-such-program-anywhere'"));
  EXPECT_EQ(runs(), 0);
}

// `--bisect` of the tested command is not one of ours.
TEST_F(Bisect, LeavesTheCommandsOptionsAlone) {
  check_is("test $2 = --bisect || exit 1; exit 0");
  const Words command = {"sh", folder_ / "check.sh", "{item}", "--bisect"};
  EXPECT_EQ(bisect({"--range", "1..9"}, command).status, kWrongEnds);
}

}  // namespace
}  // namespace nanhunt::e2e
