// SPDX-License-Identifier: Apache-2.0
// One entry of the collective log: issue and completion are two events, and an asynchronous result
// exists from its wait on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/dtype.h"
#include "trace/placement.h"

namespace nanhunt::trace {

struct Collective {
  int64_t step = 0;
  int32_t rank = 0;
  std::string op;  // all_reduce reduce_scatter all_gather broadcast all_to_all send recv
  std::vector<int32_t> group;        // global ranks that really took part, in group order
  int64_t group_sequence = 0;        // n-th collective of this group on this rank in this step
  ReduceOp reduce = ReduceOp::kSum;  // reductions only
  double divisor = 1.0;              // applied by the collective itself
  bool prescaled = false;            // each input was divided before the sum
  DType accumulate = DType::kFloat32;
  std::string order;  // reduction order: "ring", "tree", "rank", "" unknown
  bool async = false;
  int64_t issue_sequence = 0;     // position of the issue in the rank's program order
  int64_t complete_sequence = 0;  // position of the wait; -1: never waited for
  std::vector<int64_t> inputs;    // sequence numbers of its pre_collective records
  std::vector<int64_t>
      outputs;  // and of its post_collective records, pairwise when reducing in place

  bool is_reduction() const { return op == "all_reduce" || op == "reduce_scatter"; }
};

}  // namespace nanhunt::trace
