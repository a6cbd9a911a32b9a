// SPDX-License-Identifier: Apache-2.0
// A search from its first run to its answer: which item to try (search.h), how often
// (stopping_rule.h), what each run says (statuses.h). How a run is made is a function, of processes
// or a table.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ablate/child.h"
#include "bisect/search.h"
#include "bisect/statuses.h"
#include "bisect/stopping_rule.h"

namespace nanhunt::bisect {

struct Task {
  size_t items = 0;  // at least two
  StoppingRule rule = {};
  StatusTable statuses = {};
  bool ends_known = false;  // the first is good and the last is bad, without a run
  size_t survey = 0;        // items tried before the search (survey_of)
};

struct Trial {
  ItemState state = ItemState::kUntried;
  bool given = false;  // an end that was not run
  int64_t passes = 0, failures = 0;
  int64_t runs = 0;  // with one that told nothing
  std::string last;  // the end of the last run that speaks for the state: "exit status 1"
};

struct Result {
  Answer answer;
  std::vector<Trial> trials;  // one for each item of the list
  int64_t runs = 0;           // made or kept
  std::string stopped;        // why the search ended before its answer; else ""
  size_t stopped_at = 0;      // the item
  // Bounds of the decisions made: of each kind, and that any of them is wrong (their sum).
  int64_t called_good = 0, called_bad = 0;
  double error_good = 0, error_bad = 0, error = 0;
};

// Run number `run` (from 1) of an item. Throws when a run cannot be made.
using RunItem = std::function<ablate::ChildOutcome(size_t item, int64_t run)>;
// After each run: the item as it stands then.
using OnRun = std::function<void(size_t item, const Trial& trial, const ablate::ChildOutcome&)>;

Result bisect(const Task& task, const RunItem& run_item, const OnRun& on_run);

// 0 found, 125 undecided or stopped, 3 the ends are wrong.
int exit_status(const Result& result);

}  // namespace nanhunt::bisect
