// SPDX-License-Identifier: Apache-2.0
// What the end of a run says of its item. The default is that of `git bisect run`: 0 good; 125
// cannot be tested; 1..124, 126 and 127 bad; 128 and above, or killed by a signal: the search
// stops, as something is wrong that is no answer. A crash may be the very failure that is hunted:
// `--bad` names what is bad, and then every other end but 0 cannot be tested.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "ablate/child.h"

namespace nanhunt::bisect {

enum class Meaning { kGood, kBad, kUntestable, kStop };

struct StatusTable {
  // Exit statuses that are bad; a signal counts as 128 + its number, as a shell reports it.
  // Nothing: those of git.
  std::optional<std::set<int>> bad;
  Meaning timeout = Meaning::kUntestable;
};

Meaning meaning_of(const StatusTable& table, const ablate::ChildOutcome& outcome);

// "1,3..5,SIGSEGV,signals". Throws Error(kUsage).
std::set<int> parse_statuses(const std::string& text);

}  // namespace nanhunt::bisect
