// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "checkpoint/rule.h"

namespace nanhunt::checkpoint {

const std::vector<Rule>& rule_list() {
  // The surest first: findings are told in this order, proven before suspicious.
  static const std::vector<Rule> list = {
      {{"non_finite"}, non_finite},
      {{"negative_second_moment"}, negative_second_moment},
      {{"replica_mismatch"}, replica_mismatch},
      {{"tied_mismatch"}, tied_mismatch},
      {{"missing", "extra", "other_shape", "other_dtype"}, same_tensors},
      {{"nothing_moved", "frozen"}, unchanged},
      {{"step_did_not_move"}, step_did_not_move},
      {{"all_zero", "zero_moment"}, all_zero},
      {{"constant"}, constant},
      {{"duplicate"}, duplicate},
  };
  return list;
}

bool is_rule(const std::string& name) {
  const auto& list = rule_list();
  return std::any_of(list.begin(), list.end(), [&](const Rule& rule) {
    return std::find(rule.names.begin(), rule.names.end(), name) != rule.names.end();
  });
}

}  // namespace nanhunt::checkpoint
