// SPDX-License-Identifier: Apache-2.0
// Faults that disturb one tensor of a linear layer: each returns the tensor unless its fault is on,
// and then a disturbed copy. Rows are local rows [token * samples + sample].
#pragma once

#include <ATen/core/Tensor.h>

#include "cases/mini/rank_context.h"

namespace nanhunt::mini {

// linear_proj's partial products as they are handed to the reduction.
at::Tensor without_row_share(const RankContext& context, int64_t layer, const at::Tensor& product);
// linear_proj's output.
at::Tensor with_proj_faults(const RankContext& context, int64_t layer, const at::Tensor& output);
// linear_fc1's output.
at::Tensor with_fc1_faults(const RankContext& context, int64_t layer, const at::Tensor& output);

}  // namespace nanhunt::mini
