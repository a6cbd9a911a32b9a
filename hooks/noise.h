// SPDX-License-Identifier: Apache-2.0
// Noise of calibration runs, as trace::NoiseRule says it: xi is a function of seed, place and
// element index alone. Non-finite elements and zeros stay. Passes gradients unchanged.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "trace/capture_plan.h"

namespace nanhunt::hooks {

struct NoisePlace {
  std::string site;
  trace::Phase phase = trace::Phase::kForward;
  std::string role;
  int32_t microbatch = -1;
  int64_t step = 0;
};

// The rule for that place, of the plan; null: no noise. First rule that matches wins.
const trace::NoiseRule* planned_noise(const trace::Perturbation& plan, const NoisePlace& place);

// The noisy tensor; the same tensor when no noise is planned or it is not floating.
at::Tensor with_noise(const trace::Perturbation& plan, const NoisePlace& place,
                      const at::Tensor& tensor, std::optional<trace::DType> rounded_to);

// Moves each finite element by one ulp of its type, up or down by a hash of seed, name and index,
// never to infinity. In place, without autograd.
void move_by_one_ulp(uint64_t seed, const std::string& name, at::Tensor& tensor);

}  // namespace nanhunt::hooks
