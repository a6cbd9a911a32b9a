// SPDX-License-Identifier: Apache-2.0
// The list of rules: a rule is one file here and one line in rule_list.cc.
#pragma once

#include "oracle/rule.h"

namespace nanhunt::oracle {

Rule non_finite();
Rule replicas_equal();
Rule shards_tile();
Rule state_carried();
Rule distinct_batches();
Rule collective_group();
Rule collective_op();
Rule gathered_equals_pieces();
Rule collective_residual();
Rule sum_recomputed();
Rule norm_recomputed();
Rule clip_recomputed();
Rule moments_recomputed();
Rule update_recomputed();
Rule parameter_moved();

}  // namespace nanhunt::oracle
