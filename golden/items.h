// SPDX-License-Identifier: Apache-2.0
// What one step of a trace offers for comparison: its records, rank by rank, or its logical
// tensors. Both exporting and checking see a trace through this.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "compare/side_step.h"
#include "golden/golden.h"

namespace nanhunt::golden {

struct Item {
  uint64_t digest = 0;  // raw of a record, value of a logical tensor
  uint64_t count = 0;
  uint64_t non_finite = 0;
  uint64_t mask = 0;
  double norm = 0;
  std::optional<trace::Sketch> sketch;  // none without regions (unknown placement)
  std::vector<int> records;             // of the step
};

using Items = std::map<Key, Item>;

Items items_by_rank(const compare::SideStep& side);
// Complete ones that are no partial sums, in the phases that exist in every layout. Copies are not
// compared among themselves here: that is a rule (`nanhunt scan`).
Items items_by_logical(const compare::SideStep& side);

// Ranks, mesh and who sits where: what makes two runs' records comparable rank by rank.
std::string layout_name(const compare::TraceSource& source);
std::string places_hash(const compare::TraceSource& source);

}  // namespace nanhunt::golden
