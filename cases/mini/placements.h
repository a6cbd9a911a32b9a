// SPDX-License-Identifier: Apache-2.0
// Placements of the subject's tensors, as the program means them. Each is built once and shared.
//
// Activations are local [token, sample, channel] ([sample, token, channel] where batch first),
// logical [sample, token, channel] over the global batch of the step. Parameters are logical as TP1
// holds them.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cases/mini/config.h"
#include "trace/placement.h"

namespace nanhunt::mini {

using SharedPlacement = std::shared_ptr<const trace::Placement>;

struct ActivationLayout {
  std::string channel_axis = "channel";
  int64_t channels = 0;           // logical; 0: no such dimension
  bool channels_sharded = false;  // over tp
  bool tokens_sharded = false;    // over tp (sequence parallel)
  bool partial = false;           // over tp
  trace::ReduceOp partial_op = trace::ReduceOp::kSum;
  bool batch_first = false;

  auto operator<=>(const ActivationLayout&) const = default;
};

struct ParameterLayout {
  std::vector<std::string> axes;
  std::vector<int64_t> logical_shape;
  int sharded_dim = -1;  // over tp; -1: replicated

  auto operator<=>(const ParameterLayout&) const = default;
};

// Over which axes a parameter's gradient is still a partial sum.
struct PartialOver {
  bool tp = false;
  bool dp = false;
  bool microbatch = false;

  auto operator<=>(const PartialOver&) const = default;
};

class Placements {
 public:
  Placements(const Config& config, int tp_rank, int dp_rank);

  SharedPlacement activation(const ActivationLayout& layout, int32_t microbatch);
  // Mask of attention: true where a query may not see a key. Local = logical order.
  SharedPlacement attention_mask(int32_t microbatch);
  SharedPlacement parameter(const ParameterLayout& layout, const PartialOver& partial = {});
  SharedPlacement scalar(const PartialOver& partial = {});

 private:
  SharedPlacement batched(trace::Placement placement);

  const Config& config_;
  int tp_rank_, dp_rank_;
  std::map<std::pair<ActivationLayout, int32_t>, SharedPlacement> activations_;
  std::map<std::pair<ParameterLayout, PartialOver>, SharedPlacement> parameters_;
  std::map<int32_t, SharedPlacement> masks_;
};

}  // namespace nanhunt::mini
