// SPDX-License-Identifier: Apache-2.0
// The result of a search for a reader: text, and JSON (docs/bisect.md).
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bisect/bisect.h"
#include "bisect/items.h"
#include "bisect/price.h"

namespace nanhunt::bisect {

struct Report {
  const Items& items;
  const Task& task;
  const Price& price;
  const Result& result;
  int64_t kept = 0;                                 // of result.runs: found in the ledger, not made
  std::string outputs;                              // folder of the runs' outputs
  std::function<std::string(size_t item)> command;  // that runs the item again, for a shell
};

// "item 44 of 64, 0043 (subject)"
std::string name_of(const Items& items, size_t item);
std::string word_of(const Result& result);  // found, undecided, stopped, wrong_ends
std::string word_of(ItemState state);
// What the answer rests on, and the error of its decisions.
std::string error_statement(const Task& task, const Result& result);
// Why the ends are wrong, or the answer is none; "" when found.
std::string reason_of(const Report& report);

std::string to_text(const Report& report);
nlohmann::json to_json(const Report& report);

}  // namespace nanhunt::bisect
