// SPDX-License-Identifier: Apache-2.0
// Scores one bundled case: the hunt with its drawn fault, its clean twin, and the failing run
// repeated with process ranks. The fault reaches the subject by a side file that the children alone
// are told of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ablate/child.h"
#include "cli/expectation.h"
#include "oracle/thresholds.h"

namespace nanhunt::cli {

struct CheckOptions {
  uint64_t seed = 1;
  int jobs = 1;  // children at a time within one hunt
  bool ablate = true;  // false: causes are neither searched nor scored
  std::filesystem::path build;
  std::filesystem::path work;  // folder of this case; its name tells nothing of the fault
  oracle::Thresholds thresholds;
};

struct CheckRow {
  std::string name;  // "race", "race twin", "race processes"
  std::string drawn;
  std::vector<FieldScore> scores;
  std::string thresholds_sha256;
  double seconds = 0;

  bool passed() const { return !scores.empty() && all_same(scores); }
};

// Rows: the hunt, with process ranks again where the subject has them, and the twin of a case that
// plants a fault. An error of one becomes its score. A cause is searched where one is expected.
std::vector<CheckRow> check_case(const std::filesystem::path& case_file,
                                 const CheckOptions& options, ablate::ChildRunner& children);
std::string to_text(const CheckRow& row);

}  // namespace nanhunt::cli
