// SPDX-License-Identifier: Apache-2.0
// Dropout of a branch before it joins the residual stream, by a mask that is drawn for the logical
// tensor (docs/cases.md, "Weights and batches"), so that every layout drops the same elements.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "cases/mini/rank_context.h"

namespace nanhunt::mini {

// branch: [tokens of this rank, samples of this microbatch, hidden]. Returns it as it is where the
// configuration drops nothing. The mask is recorded (role "mask", true = kept).
at::Tensor dropout(RankContext& context, const std::string& site, const at::Tensor& branch);

}  // namespace nanhunt::mini
