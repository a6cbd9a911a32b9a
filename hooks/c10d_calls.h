// SPDX-License-Identifier: Apache-2.0
// A c10d op (c10d::allreduce_ and its kin, of any ProcessGroup) as a collective of the trace:
// operands, results, reduction, ranks. All that depends on c10d's unstable interface is here.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <c10/util/intrusive_ptr.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/collective.h"

namespace nanhunt::hooks {

struct C10dCall {
  trace::Collective collective;
  std::vector<at::Tensor> operands;  // what this rank gives
  std::vector<at::Tensor> results;   // what it gets; the operands themselves when in place
  int operand_segments = 0;          // equal pieces along dimension 0, one per rank
  int result_segments = 0;
  int32_t group_size = 1;
  std::string group_name;
};

// Global ranks of a group by its name; the program may declare what c10d cannot tell.
using GroupRanks = std::map<std::string, std::vector<int32_t>>;

// nullopt: no op of c10d that moves data. Call it from a start callback.
std::optional<C10dCall> read_c10d_call(const at::RecordFunction& function, int32_t world_size,
                                       const GroupRanks& declared);
bool is_c10d(const at::RecordFunction& function);

// The work that a c10d op returned, kept alive. Call it from an end callback.
class Work {
 public:
  Work() = default;
  explicit Work(c10::intrusive_ptr<c10::intrusive_ptr_target> work, std::function<bool()> ended)
      : work_(std::move(work)), ended_(std::move(ended)) {}

  // True without a work to ask.
  bool has_ended() const { return !ended_ || ended_(); }
  // Names the work; nullptr: none.
  const void* id() const { return work_.get(); }

 private:
  c10::intrusive_ptr<c10::intrusive_ptr_target> work_;
  std::function<bool()> ended_;
};
Work work_of(const at::RecordFunction& function);

}  // namespace nanhunt::hooks
