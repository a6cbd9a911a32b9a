// SPDX-License-Identifier: Apache-2.0
// Which parameters an optimizer really updated in a step. It leaves one alone that got no gradient
// (an expert without tokens, a branch not taken), and all of them where the program skips the step
// (a spike, an overflow): the count of updates stands, and so do moments and values, to the bit.
// The formulas of an update say nothing about such a step.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "oracle/rule.h"

namespace nanhunt::oracle {

class UpdatesMade {
 public:
  explicit UpdatesMade(const RuleInput& input);

  // True unless the step before shows that this parameter was left alone: nothing of it has moved
  // since, and it has no gradient in this step or no parameter of any rank was updated. One that
  // has a gradient and stands still while others move is not left alone, but a fault.
  bool made(int32_t rank, const std::string& site) const {
    return !left_alone_.contains({rank, site});
  }

 private:
  std::set<std::pair<int32_t, std::string>> left_alone_;
};

}  // namespace nanhunt::oracle
