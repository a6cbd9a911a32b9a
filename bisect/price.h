// SPDX-License-Identifier: Apache-2.0
// What a search costs, told before its first run: the largest and the expected number of runs, and
// the error of the whole. For a list in which every item can be tested, good ones come before bad
// ones and the first bad one lies at each place but the first with the same probability. An item
// that cannot be tested may cost more: its own runs, and a less even split. Under a rule that may
// leave items undecided every item may have to be tried; `expected` does not count that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bisect/stopping_rule.h"

namespace nanhunt::bisect {

struct Price {
  int64_t items = 0;         // tried at most, of which
  int64_t ends = 0;          // 2, or 0 when they are known
  int64_t surveyed = 0;      // before the search
  int64_t runs_of_item = 0;  // at most
  int64_t runs = 0;          // at most
  double expected = 0;       // runs, items failing at the two rates of the rule
  double error_good = 0;     // that an item called good is bad
  double error_bad = 0;      // that an item called bad is good
  double error = 0;          // that any decision is wrong: the sum over `items` of the larger one
};

Price price_of(const StoppingRule& rule, size_t items, bool ends_known, size_t survey);
// Lines to print.
std::vector<std::string> describe(const Price& price, const StoppingRule& rule, size_t items);

}  // namespace nanhunt::bisect
