// SPDX-License-Identifier: Apache-2.0
// Builds one table (golden.h) from the steps of its runs: which class each entry has, and how far
// the runs lie apart.
#pragma once

#include <vector>

#include "compare/verdict.h"
#include "golden/golden.h"
#include "golden/items.h"

namespace nanhunt::golden {

class TableMaker {
 public:
  // `table.runs` is set. bits_shown: equal digests of all its runs make class `bit`. no_spread: why
  // the runs say nothing of how far a further one may be off; "" when they do.
  TableMaker(Table& table, bool bits_shown, std::string no_spread)
      : table_(table), bits_shown_(bits_shown), no_spread_(std::move(no_spread)) {}

  // One step of every run, in a fixed order of runs; steps ascending.
  void add_step(int64_t step, const std::vector<Items>& runs);
  void add_curves(const std::vector<std::vector<compare::Loss>>& runs);

 private:
  using Seen = std::map<Key, std::vector<const Item*>>;

  Expected entry_of(const std::vector<const Item*>& seen) const;
  std::string obstacle(const std::vector<const Item*>& seen) const;
  CurvePoint point_of(const std::vector<double>& values) const;
  void keep_sketches(const Seen& seen);

  Table& table_;
  bool bits_shown_;
  std::string no_spread_;
  bool noisy_ = false;  // some entry of this step or an earlier one
};

}  // namespace nanhunt::golden
