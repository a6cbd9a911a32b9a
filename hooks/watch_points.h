// SPDX-License-Identifier: Apache-2.0
// Names and placements that a Watch gives to what it sees: parameters by their module path, all
// else by the program's word or by count. Placements are those of plain data parallelism:
// parameters and reduced gradients are replicated over the ranks, a local gradient is not known to
// be anything before the program reduces it, an operand of an all-reduce is a partial result of it.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hooks/c10d_calls.h"
#include "hooks/rank_taps.h"
#include "hooks/watch.h"

namespace nanhunt::hooks {

struct NamedParameter {
  std::string name;
  at::Tensor tensor;
};

class WatchPoints {
 public:
  WatchPoints(std::vector<NamedParameter> parameters, int32_t world_size);

  const std::vector<NamedParameter>& parameters() const { return parameters_; }
  bool is_parameter(const at::Tensor& tensor) const;

  TapPoint parameter(const NamedParameter& parameter, trace::Phase phase,
                     const std::string& role) const;
  // The gradient of one backward pass, before any reduction.
  TapPoint local_gradient(const NamedParameter& parameter) const;
  TapPoint activation(const std::string& site, trace::Phase phase, const std::string& role,
                      const at::Tensor& tensor, std::optional<Samples> samples) const;
  TapPoint collective(const C10dCall& call, trace::Phase phase, const at::Tensor& tensor,
                      size_t index, int64_t unnamed_count) const;

 private:
  std::shared_ptr<const trace::Placement> over_ranks(const at::Tensor& tensor,
                                                     trace::AxisPlacement along_ranks) const;

  std::vector<NamedParameter> parameters_;
  int32_t world_size_;
};

}  // namespace nanhunt::hooks
