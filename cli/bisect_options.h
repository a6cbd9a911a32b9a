// SPDX-License-Identifier: Apache-2.0
// The command line of `nanhunt bisect`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bisect/command_template.h"
#include "bisect/statuses.h"
#include "bisect/stopping_rule.h"

namespace nanhunt::cli {

enum class ListKind { kFile, kCommits, kRange };

struct BisectOptions {
  ListKind kind = ListKind::kFile;
  std::string list;  // FILE, GOOD..BAD or FIRST..LAST
  std::filesystem::path repository;
  bisect::Words command;
  bisect::FailureRates rates;
  bisect::StatusTable statuses;
  double timeout_s = 0;  // of one run
  bool ends_known = false;
  size_t survey = 0;
  std::optional<std::filesystem::path> ledger;
  std::filesystem::path out;
  bool price = false;  // only the price
  bool json = false;
};

// Nothing when help was asked for, and printed. Throws Error(kUsage).
std::optional<BisectOptions> parse_bisect_options(const std::vector<std::string>& arguments);

}  // namespace nanhunt::cli
