// SPDX-License-Identifier: Apache-2.0
// Tapped collectives. Every reduction, gather and scatter of the subject goes through
// TappedCollective, which logs the truth of what runs (op, group, order, accumulation, issue and
// wait) beside the placements that the program means. On top of it the conjugate pairs of tensor
// parallelism as autograd ops (Megatron-LM core/tensor_parallel/mappings.py).
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cases/mini/rank_context.h"

namespace nanhunt::mini {

// What is exchanged, as the program means it.
struct Exchange {
  std::string site;
  std::string role;
  SharedPlacement before, after;
  trace::DType storage = trace::DType::kFloat32;
  int32_t microbatch = -1;
};

// One collective between its issue and its wait, both on the compute thread; what lies between may
// run on another one.
class TappedCollective {
 public:
  // `op` as in the log: all_reduce, reduce_scatter, all_gather. Options give order and
  // accumulation.
  TappedCollective(RankContext& context, const Group& group, std::string op,
                   const ReduceOptions& options, bool asynchronous = false);

  void issue(const std::vector<Exchange>& exchanges, const std::vector<at::Tensor>& operands);
  // Returns what the program goes on with.
  std::vector<at::Tensor> complete(const std::vector<at::Tensor>& results);

 private:
  RankContext& context_;
  trace::Collective collective_;
  int group_size_;
  std::vector<Exchange> exchanges_;
  hooks::CollectiveCall call_;
};

// The elements of a packed FP32 tensor.
std::span<float> elements(const at::Tensor& tensor);

// Reduces a packed tensor in place. Group of one: the tensor itself, no record.
at::Tensor all_reduce(RankContext& context, Group& group, const Exchange& exchange,
                      const at::Tensor& tensor, trace::ReduceOp op = trace::ReduceOp::kSum);

// Activations of one site in three states, for the conjugate pairs below.
struct TensorParallelPlaces {
  std::string site;
  ActivationLayout whole;  // [tokens, samples, channels], equal on all tp ranks
};

// Forward identity, backward all-reduce (role grad_input).
at::Tensor copy_to_tensor_parallel(RankContext& context, const TensorParallelPlaces& places,
                                   const at::Tensor& tensor);
// Forward all-reduce (role output), backward identity. `layer`: linear_proj of that layer, else -1.
at::Tensor reduce_from_tensor_parallel(RankContext& context, const TensorParallelPlaces& places,
                                       const at::Tensor& tensor, int64_t layer);
// Forward all-gather over tokens (role input), backward reduce-scatter (role grad_input).
at::Tensor gather_from_sequence_parallel(RankContext& context, const TensorParallelPlaces& places,
                                         const at::Tensor& tensor);
// Forward reduce-scatter over tokens (role output), backward all-gather (role grad_output).
at::Tensor reduce_scatter_to_sequence_parallel(RankContext& context,
                                               const TensorParallelPlaces& places,
                                               const at::Tensor& tensor, int64_t layer);

}  // namespace nanhunt::mini
