// SPDX-License-Identifier: Apache-2.0
#include "ablate/ledger.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/scratch_folder.h"

namespace nanhunt::ablate {
namespace {

namespace fs = std::filesystem;

LedgerEntry entry(const std::string& key, double seconds) {
  return {key, "off a", "b=on", {ChildEnd::kExited, 1, seconds, ""}};
}

TEST(Ledger, RemembersOverRestarts) {
  const ScratchFolder folder;
  const fs::path file = folder / "ledger.jsonl";
  {
    Ledger ledger(file);
    EXPECT_FALSE(ledger.find("k1"));
    ledger.add(entry("k1", 2));
    ledger.add(entry("k2", 4));
    ledger.add(entry("k3", 9));
  }
  const Ledger again(file);
  ASSERT_TRUE(again.find("k1"));
  EXPECT_EQ(again.find("k1")->outcome.status, 1);
  EXPECT_EQ(again.find("k1")->purpose, "off a");
  EXPECT_FALSE(again.find("k4"));
  EXPECT_EQ(again.typical_seconds(), 4);
}

TEST(Ledger, SkipsALineThatWasCutOff) {
  const ScratchFolder folder;
  const fs::path file = folder / "ledger.jsonl";
  Ledger(file).add(entry("k1", 2));
  std::ofstream(file, std::ios::app) << R"({"key": "k2", "en)";
  const Ledger again(file);
  EXPECT_TRUE(again.find("k1"));
  EXPECT_FALSE(again.find("k2"));
}

TEST(Ledger, KnowsARebuiltProgram) {
  const ScratchFolder folder;
  const fs::path file = folder / "program";
  std::ofstream(file) << "one";
  const CommandLine line{{file.string(), "--tp=1"}, {}};
  const std::string before = program_identity(line);
  EXPECT_EQ(program_identity(line), before);
  std::ofstream(file) << "another";
  EXPECT_NE(program_identity(line), before);
}

}  // namespace
}  // namespace nanhunt::ablate
