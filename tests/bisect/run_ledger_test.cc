// SPDX-License-Identifier: Apache-2.0
#include "bisect/run_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/support/scratch_folder.h"
#include "trace/error.h"

namespace nanhunt::bisect {
namespace {

using ablate::ChildEnd;
using testing::HasSubstr;

const Items kItems = {{"a", ""}, {"b\xff", ""}, {"c", ""}};
const Words kCommand = {"check", "{item}"};

class Ledger : public testing::Test {
 protected:
  std::string text() const {
    std::ostringstream text;
    text << std::ifstream(file_, std::ios::binary).rdbuf();
    return text.str();
  }
  void write(const std::string& text) const { std::ofstream(file_, std::ios::binary) << text; }
  std::string refusal(const Items& items, const Words& command) const {
    try {
      const RunLedger ledger(file_, items, command);
    } catch (const trace::Error& error) {
      return std::to_string(static_cast<int>(error.kind())) + " " + error.what();
    }
    return "";
  }
  void add_three() const {
    RunLedger ledger(file_, kItems, kCommand);
    ledger.add(0, 1, {{ChildEnd::kExited, 0, 1.5, ""}, 60});
    ledger.add(2, 1, {{ChildEnd::kSignalled, 11, 0, ""}, 60});
    ledger.add(1, 7, {{ChildEnd::kTimedOut, 0, 60, ""}, 60});
  }

  const ScratchFolder folder_;
  const std::string file_ = folder_ / "ledger";
};

TEST_F(Ledger, KeepsEachRun) {
  add_three();
  const RunLedger ledger(file_, kItems, kCommand);
  EXPECT_EQ(ledger.size(), 3u);
  EXPECT_EQ(ledger.find(0, 1)->outcome.seconds, 1.5);
  EXPECT_EQ(ledger.find(2, 1)->outcome.end, ChildEnd::kSignalled);
  EXPECT_EQ(ledger.find(2, 1)->outcome.status, 11);
  EXPECT_EQ(ledger.find(1, 7)->outcome.end, ChildEnd::kTimedOut);
  EXPECT_EQ(ledger.find(1, 7)->limit_s, 60);
  EXPECT_FALSE(ledger.find(1, 1));
  EXPECT_FALSE(ledger.find(0, 2));
}

// Cut after each byte, as by a kill in the middle of a write: what is whole stays, and what is
// added afterwards is read again.
TEST_F(Ledger, SurvivesACutAtEachByte) {
  add_three();
  const std::string whole = text();
  for (size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    write(whole.substr(0, bytes));
    const auto lines = std::count(whole.begin(), whole.begin() + static_cast<long>(bytes), '\n');
    RunLedger(file_, kItems, kCommand).add(1, 1, {{ChildEnd::kExited, 3, 0, ""}, 60});
    const RunLedger ledger(file_, kItems, kCommand);
    EXPECT_EQ(ledger.size(), static_cast<size_t>(std::max<long>(lines, 1))) << bytes;
    EXPECT_EQ(ledger.find(1, 1)->outcome.status, 3);
  }
}

TEST_F(Ledger, OfAnotherListOrCommandIsRefusedByName) {
  add_three();
  const std::string before = text();
  EXPECT_EQ(refusal(kItems, kCommand), "");
  Items other = kItems;
  other[1].name = "d";
  EXPECT_THAT(refusal(other, kCommand), HasSubstr("2 " + file_ + ": the ledger of another list"));
  EXPECT_THAT(refusal(kItems, {"check", "-v", "{item}"}),
              HasSubstr("the ledger of another command (check '{item}'); this one is check -v "));
  EXPECT_EQ(text(), before);
}

TEST_F(Ledger, OfSomethingElseIsRefusedAndLeftAsItIs) {
  for (const char* foreign : {"a text\n", "a text", "{}\n", "[1]\n", "\n", "{\"format\":3}\n"}) {
    write(foreign);
    EXPECT_THAT(refusal(kItems, kCommand), HasSubstr("3 " + file_)) << foreign;
    EXPECT_EQ(text(), foreign);
  }
  std::filesystem::remove(file_);
  add_three();
  write(text() + "{\"place\":9}\n");
  EXPECT_THAT(refusal(kItems, kCommand), HasSubstr("3 " + file_));
}

TEST_F(Ledger, IsUsedByOneSearchAtATime) {
  const RunLedger ledger(file_, kItems, kCommand);
  EXPECT_THAT(refusal(kItems, kCommand), HasSubstr("in use"));
}

}  // namespace
}  // namespace nanhunt::bisect
