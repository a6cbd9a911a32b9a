// SPDX-License-Identifier: Apache-2.0
// What a scan of a checkpoint concludes, ready to print or to read by machine
// (docs/checkpoints.md). Words and exit statuses are those of compare/verdict.h.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "checkpoint/finding.h"
#include "compare/verdict.h"

namespace nanhunt::checkpoint {

struct Coverage {
  int64_t files = 0, tensors = 0, elements = 0, bytes = 0;  // bytes of data
  std::map<std::string, int64_t> dtypes;                    // tensors of each
  std::vector<std::string> not_read;                        // pickle files: never opened
  std::vector<std::string> not_named;  // read, though the index beside them does not name them
  std::vector<std::string> notes;      // what rules could not judge
  int64_t accepted = 0;                // findings that the rules file takes for right
};

struct Report {
  compare::VerdictKind kind = compare::VerdictKind::kUnresolved;
  std::string reason;             // of unresolved
  std::vector<Finding> findings;  // proven before suspicious, in the order of the rules
  Coverage coverage;
  std::string checkpoint, before;  // arguments; before "" without --before
  std::string rules;               // name of the rules file; "" without one
};

nlohmann::json to_json(const Report& report);
// Coverage first, then findings, then the block to paste into a ticket.
std::string to_text(const Report& report);

}  // namespace nanhunt::checkpoint
