// SPDX-License-Identifier: Apache-2.0
#include "oracle/rules/rules.h"

namespace nanhunt::oracle {

const std::vector<Rule>& rules() {
  static const std::vector<Rule> list{
      non_finite(),
      replicas_equal(),
      shards_tile(),
      state_carried(),
      distinct_batches(),
      collective_group(),
      collective_op(),
      gathered_equals_pieces(),
      collective_residual(),
      sum_recomputed(),
      norm_recomputed(),
      clip_recomputed(),
      moments_recomputed(),
      update_recomputed(),
      parameter_moved(),
  };
  return list;
}

std::vector<Finding> check_rules(const RuleInput& input) {
  std::vector<Finding> all;
  for (const Rule& rule : rules()) {
    auto findings = rule.check(input);
    all.insert(all.end(), std::make_move_iterator(findings.begin()),
               std::make_move_iterator(findings.end()));
  }
  return all;
}

}  // namespace nanhunt::oracle
