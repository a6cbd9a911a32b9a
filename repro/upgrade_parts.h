// SPDX-License-Identifier: Apache-2.0
// What two builds are by themselves, each run straight from the start: the parts of an upgrade that
// need no state of the other one (upgrade.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "repro/report.h"

namespace nanhunt::repro {

// What one straight run left: its trace, captured in full from step `at` on, and capsules of the
// steps `first`, `at` and `end`.
struct BuildRun {
  std::filesystem::path trace, capsules;
};

struct BuildPair {
  BuildRun a, b;
  int64_t first = 0, at = 0, end = 0;
  std::vector<std::string> intended;  // keys of semantic changes that are meant
};

struct OwnParts {
  std::vector<LevelReport> levels;  // configuration, names, placements, fresh start
  bool names_differ = false;        // of parameters
  bool shapes_differ = false;       // or types
};

// Throws Error(kUnreadable) where a trace or a capsule is not whole.
OwnParts compare_builds(const BuildPair& builds);

}  // namespace nanhunt::repro
