// SPDX-License-Identifier: Apache-2.0
#include "hooks/c10d_calls.h"

#include <ATen/core/class_type.h>

#include <cstring>
#include <numeric>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

namespace nanhunt::hooks {
namespace {

enum class Cut : uint8_t { kNone, kOperand, kResult, kBoth };

// Positions of the arguments in the op's schema; the group follows the tensors.
struct Op {
  const char* name;
  const char* collective;
  int results;
  int operands;
  int group;
  int reduce;  // -1: none
  int peer;    // root, source or destination; -1: none
  Cut cut;
};

constexpr Op kOps[] = {
    {"c10d::allreduce_", "all_reduce", 0, 0, 1, 2, -1, Cut::kNone},
    {"c10d::allreduce_coalesced_", "all_reduce", 0, 0, 1, 2, -1, Cut::kNone},
    {"c10d::reduce_", "reduce", 0, 0, 1, 2, 3, Cut::kNone},
    {"c10d::broadcast_", "broadcast", 0, 0, 1, -1, 2, Cut::kNone},
    {"c10d::allgather_", "all_gather", 0, 1, 2, -1, -1, Cut::kNone},
    {"c10d::_allgather_base_", "all_gather", 0, 1, 2, -1, -1, Cut::kResult},
    {"c10d::allgather_into_tensor_coalesced_", "all_gather", 0, 1, 2, -1, -1, Cut::kResult},
    {"c10d::gather_", "gather", 0, 1, 2, -1, 3, Cut::kNone},
    {"c10d::scatter_", "scatter", 0, 1, 2, -1, 3, Cut::kNone},
    {"c10d::reduce_scatter_", "reduce_scatter", 0, 1, 2, 3, -1, Cut::kNone},
    {"c10d::_reduce_scatter_base_", "reduce_scatter", 0, 1, 2, 3, -1, Cut::kOperand},
    {"c10d::reduce_scatter_tensor_coalesced_", "reduce_scatter", 0, 1, 2, 3, -1, Cut::kOperand},
    {"c10d::alltoall_base_", "all_to_all", 0, 1, 2, -1, -1, Cut::kBoth},
    {"c10d::alltoall_", "all_to_all", 0, 1, 2, -1, -1, Cut::kNone},
    {"c10d::send", "send", -1, 0, 1, -1, 2, Cut::kNone},
    {"c10d::recv_", "recv", 0, -1, 1, -1, 2, Cut::kNone},
};

void collect(const c10::IValue& value, std::vector<at::Tensor>& tensors) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) tensors.push_back(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) collect(element, tensors);
  }
}

void read_reduction(const c10d::ReduceOp& reduce, int32_t group_size,
                    trace::Collective& collective) {
  switch (reduce.op_) {
    case c10d::ReduceOp::SUM:
      break;
    case c10d::ReduceOp::AVG:
      collective.divisor = group_size;
      break;
    case c10d::ReduceOp::PRODUCT:
      collective.reduce = trace::ReduceOp::kProduct;
      break;
    case c10d::ReduceOp::MIN:
      collective.reduce = trace::ReduceOp::kMin;
      break;
    case c10d::ReduceOp::MAX:
      collective.reduce = trace::ReduceOp::kMax;
      break;
    default:
      collective.op += "_other";  // bitwise and pre-multiplied: no rule knows them
  }
}

// The backend may know the global ranks of its group; most do not say.
std::vector<int32_t> ranks_of(c10d::ProcessGroup& group, int32_t world_size,
                              const GroupRanks& declared) {
  const auto known = declared.find(group.getGroupName());
  if (known != declared.end()) return known->second;
  std::vector<int32_t> ranks;
  try {
    const auto options = group.getDefaultBackend()->getBackendOptions();
    ranks.assign(options->global_ranks_in_group.begin(), options->global_ranks_in_group.end());
  } catch (const std::exception&) {
  }
  if (ranks.empty() && group.getSize() == world_size) {
    ranks.resize(world_size);
    std::iota(ranks.begin(), ranks.end(), 0);
  }
  return ranks;
}

const Op* op_named(const char* name) {
  for (const Op& op : kOps) {
    if (std::strcmp(op.name, name) == 0) return &op;
  }
  return nullptr;
}

c10d::ProcessGroup* group_in(const c10::IValue& value) {
  if (!value.isObject()) return nullptr;
  return value.toCustomClass<c10d::ProcessGroup>().get();
}

// send and recv: the two ranks, giver first.
void read_pair(const Op& op, int64_t peer, int32_t own, trace::Collective& collective) {
  const auto& group = collective.group;
  if (peer < 0 || own < 0 || static_cast<size_t>(std::max<int64_t>(peer, own)) >= group.size())
    return;
  const bool gives = op.results < 0;
  collective.group = gives ? std::vector<int32_t>{group[own], group[peer]}
                           : std::vector<int32_t>{group[peer], group[own]};
}

// Trailing arguments of all schemas that have it: ..., bool async_op, int timeout.
bool is_async(const at::RecordFunction& function) {
  const auto inputs = function.inputs();
  for (size_t i = inputs.size(); i-- > 0;) {
    if (inputs[i].isBool()) return inputs[i].toBool();
  }
  return true;
}

}  // namespace

bool is_c10d(const at::RecordFunction& function) {
  return std::strncmp(function.name(), "c10d::", 6) == 0;
}

std::optional<C10dCall> read_c10d_call(const at::RecordFunction& function, int32_t world_size,
                                       const GroupRanks& declared) {
  const Op* op = op_named(function.name());
  const auto inputs = function.inputs();
  if (op == nullptr || inputs.size() <= static_cast<size_t>(std::max(op->group, op->reduce))) {
    return std::nullopt;
  }
  c10d::ProcessGroup* group = group_in(inputs[op->group]);
  if (group == nullptr) return std::nullopt;
  C10dCall call;
  call.group_name = group->getGroupName();
  call.group_size = group->getSize();
  call.collective.op = op->collective;
  call.collective.group = ranks_of(*group, world_size, declared);
  call.collective.async = is_async(function);
  if (op->operands >= 0) collect(inputs[op->operands], call.operands);
  if (op->results >= 0) collect(inputs[op->results], call.results);
  if (op->reduce >= 0) {
    read_reduction(*inputs[op->reduce].toCustomClass<c10d::ReduceOp>(), call.group_size,
                   call.collective);
  }
  const bool is_pair = op->results < 0 || op->operands < 0;
  if (is_pair) read_pair(*op, inputs[op->peer].toInt(), group->getRank(), call.collective);
  // Uneven splits have no equal segments.
  const bool uneven = std::strcmp(op->name, "c10d::alltoall_base_") == 0 &&
                      (!inputs[3].toListRef().empty() || !inputs[4].toListRef().empty());
  if (!uneven) {
    if (op->cut == Cut::kOperand || op->cut == Cut::kBoth) call.operand_segments = call.group_size;
    if (op->cut == Cut::kResult || op->cut == Cut::kBoth) call.result_segments = call.group_size;
  }
  return call;
}

Work work_of(const at::RecordFunction& function) {
  std::vector<c10::IValue> values;
  for (const c10::IValue& output : function.outputs()) {
    if (output.isTuple()) {
      const auto elements = output.toTupleRef().elements();
      values.insert(values.end(), elements.begin(), elements.end());
    } else {
      values.push_back(output);
    }
  }
  for (const c10::IValue& value : values) {
    if (!value.isObject()) continue;
    auto work = value.toCustomClass<c10d::Work>();
    if (work) return Work(work, [work] { return work->isCompleted(); });
  }
  return {};
}

}  // namespace nanhunt::hooks
