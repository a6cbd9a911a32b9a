// SPDX-License-Identifier: Apache-2.0
// A finding: a rule that records break, with evidence. Findings are facts about single places;
// which of them is first, and whether it originated there, is compare's business.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trace/record.h"

namespace nanhunt::oracle {

// proven: an exact rule or a deterministic bound is broken; suspicious: a statistical bound is.
enum class Severity { kProven, kSuspicious };

// Whose records break the rule.
enum class Side { kCandidate, kReference };

// What told the right copy from the wrong one (itself: the record needs no other to be wrong, e.g.
// a NaN).
enum class Decider { kNone, kItself, kRecomputation, kReference, kMajority };

struct RecordRef {
  int32_t rank = 0;
  int64_t sequence = 0;

  auto operator<=>(const RecordRef&) const = default;
};

struct Finding {
  std::string rule;  // name in the list of rules, docs/rules.md
  Severity severity = Severity::kProven;
  Side side = Side::kCandidate;
  trace::What what;
  int32_t microbatch = -1;
  std::vector<RecordRef> records;  // those that break it, in the side's trace
  std::vector<int32_t> ranks;  // sorted; those that break against the decider, else the whole group
  Decider decider = Decider::kNone;
  std::string group;    // mesh axes of the group when no decider: "tp", "tp dp"
  double measured = 0;  // in `unit`
  double allowed = 0;
  std::string unit;      // "relative norm", "elements", "ulp", ...
  std::string evidence;  // one sentence with the numbers
  // Of a recomputed gradient, else empty: the sites whose derivatives went into it, and its own.
  std::vector<std::string> derivative_of;

  // False when no copy could be told right: the whole group is named.
  bool which_known() const { return decider != Decider::kNone; }
};

std::string_view name_of(Severity severity);
std::string_view name_of(Decider decider);

}  // namespace nanhunt::oracle
