// SPDX-License-Identifier: Apache-2.0
// [fault] and [expect] are read by the check of the bundled cases and by what plants a fault alone:
// no other command's code reaches their readers, by whatever chain of includes; nothing else names
// the side file.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace nanhunt::cli {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = NANHUNT_SOURCE_DIR;
const std::set<std::string> kReaders = {"cli/fault_draw.h", "cli/expectation.h",
                                        "cli/case_check.h"};
const std::set<std::string> kAllowed = {"cli/fault_draw.cc", "cli/expectation.cc",
                                        "cli/case_check.cc", "cli/cases.cc",
                                        // Hands commands an environment for their children.
                                        "cli/plant.cc"};

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<std::string> includes_of(const std::string& file) {
  std::vector<std::string> targets;
  std::istringstream lines(text_of(kRoot / file));
  for (std::string line; std::getline(lines, line);) {
    const std::string start = "#include \"";
    if (line.starts_with(start)) {
      targets.push_back(line.substr(start.size(), line.rfind('"') - start.size()));
    }
  }
  return targets;
}

// All headers that a file sees.
void collect(const std::string& file, std::set<std::string>& seen) {
  for (const std::string& target : includes_of(file)) {
    if (seen.insert(target).second) collect(target, seen);
  }
}

bool sees_a_reader(const std::string& file) {
  std::set<std::string> seen;
  collect(file, seen);
  for (const std::string& reader : kReaders) {
    if (seen.contains(reader)) return true;
  }
  return false;
}

std::vector<std::string> sources_of(const std::vector<std::string>& folders) {
  std::vector<std::string> files;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      if (entry.path().extension() == ".cc") {
        files.push_back(fs::relative(entry.path(), kRoot).string());
      }
    }
  }
  return files;
}

TEST(Separation, OnlyTheCheckReadsFaultsAndExpectations) {
  const std::vector<std::string> files =
      sources_of({"trace", "oracle", "compare", "ablate", "cli"});
  EXPECT_GT(files.size(), 30u);
  for (const std::string& file : files) {
    if (kAllowed.contains(file)) continue;
    EXPECT_FALSE(sees_a_reader(file)) << file;
  }
}

TEST(Separation, TheTestSeesAReaderWhereThereIsOne) {
  EXPECT_TRUE(sees_a_reader("cli/case_check.cc"));
  EXPECT_TRUE(sees_a_reader("cli/cases.cc"));  // by way of cli/case_check.h
}

TEST(Separation, TheSideFileIsNamedWhereFaultsArePlantedAlone) {
  for (const std::string& file :
       sources_of({"trace", "oracle", "compare", "ablate", "cli", "hooks"})) {
    if (file == "cli/plant.cc") continue;
    EXPECT_EQ(text_of(kRoot / file).find("NANHUNT_FAULT"), std::string::npos) << file;
  }
  EXPECT_NE(text_of(kRoot / "cli/plant.cc").find("NANHUNT_FAULT"), std::string::npos);
}

}  // namespace
}  // namespace nanhunt::cli
