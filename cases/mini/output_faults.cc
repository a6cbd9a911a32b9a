// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/output_faults.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/std.h>

#include <limits>

namespace nanhunt::mini {
namespace {

at::Tensor as_rows(const at::Tensor& tensor) { return tensor.view({-1, tensor.size(-1)}); }

bool here(const RankContext& context, FaultName name, int64_t layer) {
  return context.is_in_layer(name, layer) && context.microbatch == context.fault.microbatch;
}

}  // namespace

at::Tensor without_row_share(const RankContext& context, int64_t layer, const at::Tensor& product) {
  if (here(context, FaultName::kRowMissingShare, layer) &&
      context.mesh.tp_rank == context.config.tp - 1) {
    const at::Tensor copy = product.clone();
    const at::Tensor rows = as_rows(copy);
    rows.select(0, context.fault.element % rows.size(0)).zero_();
    return copy;
  }
  return product;
}

at::Tensor with_proj_faults(const RankContext& context, int64_t layer, const at::Tensor& output) {
  // A fault of the parallel code: a reference of one rank is healthy.
  const bool parallel = context.config.tp > 1;
  if (parallel && here(context, FaultName::kRowsSwapped, layer)) {
    const at::Tensor copy = output.clone();
    const at::Tensor rows = as_rows(copy), old = as_rows(output);
    const int64_t first = context.fault.element % rows.size(0);
    const int64_t second = (first + 1) % rows.size(0);
    rows.select(0, first).copy_(old.select(0, second));
    rows.select(0, second).copy_(old.select(0, first));
    return copy;
  }
  if (parallel && here(context, FaultName::kElementOutlier, layer)) {
    const at::Tensor copy = output.clone();
    copy.view({-1}).select(0, context.fault.element % copy.numel()).add_(at::std(output), 30);
    return copy;
  }
  return output;
}

at::Tensor with_fc1_faults(const RankContext& context, int64_t layer, const at::Tensor& output) {
  if (context.is_in_layer(FaultName::kShardScaled, layer) && context.config.tp > 1 &&
      context.mesh.rank == context.fault.rank) {
    return output * (1.0 + 1.0 / 32);
  }
  if (here(context, FaultName::kNanOnRank, layer) && context.mesh.rank == context.fault.rank) {
    const at::Tensor copy = output.clone();
    copy.view({-1})
        .select(0, context.fault.element % copy.numel())
        .fill_(std::numeric_limits<float>::quiet_NaN());
    return copy;
  }
  if (here(context, FaultName::kRowNotWritten, layer) && context.mesh.rank == context.fault.rank) {
    const at::Tensor fresh = at::empty_like(output);
    const at::Tensor rows = as_rows(fresh), old = as_rows(output);
    const int64_t left_out = context.fault.element % rows.size(0);
    for (int64_t row = 0; row < rows.size(0); ++row) {
      if (row != left_out) rows.select(0, row).copy_(old.select(0, row));
    }
    return fresh;
  }
  return output;
}

}  // namespace nanhunt::mini
