// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/embedding.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros_like.h>

#include "cases/mini/autograd.h"
#include "cases/mini/collectives.h"
#include "cases/mini/sites.h"

namespace nanhunt::mini {
namespace {

// Rows of the table; zeros for ids that another rank owns.
at::Tensor look_up(RankContext& context, const at::Tensor& table, const at::Tensor& ids) {
  const int64_t first = context.mesh.tp_rank * table.size(0);
  const at::Tensor flat = ids.reshape({-1}) - first;
  const at::Tensor owned = flat.ge(0).logical_and(flat.lt(table.size(0)));
  const at::Tensor local = flat.clamp(0, table.size(0) - 1);
  std::vector<int64_t> shape = ids.sizes().vec();
  shape.push_back(table.size(1));
  // A row of another rank is dropped by selection, not by a product with 0: 0 * Inf is NaN.
  const auto forward = [&] {
    return table.detach()
        .index_select(0, local)
        .masked_fill(owned.logical_not().unsqueeze(1), 0)
        .view(shape);
  };
  return with_backward(
      {table}, forward,
      [table, local, owned](const at::Tensor& gradient) -> std::vector<at::Tensor> {
        const at::Tensor rows =
            gradient.reshape({-1, table.size(1)}).masked_fill(owned.logical_not().unsqueeze(1), 0);
        return {at::zeros_like(table.detach()).index_add_(0, local, rows)};
      });
}

at::Tensor word_embeddings(RankContext& context, Parameter& words, const at::Tensor& ids) {
  const std::string name = "embedding.word_embeddings";
  at::Tensor rows = look_up(context, words.value, ids);
  const TensorParallelPlaces places{name, {.channels = context.config.hidden}};
  if (context.sequence_parallel()) {
    rows = reduce_scatter_to_sequence_parallel(context, places, rows, -1);
  } else {
    rows = reduce_from_tensor_parallel(context, places, rows, -1);
  }
  const Site site{
      name,
      "embedding",
      {.channels = context.config.hidden, .tokens_sharded = context.sequence_parallel()}};
  return site_output(context, site, rows);
}

at::Tensor position_embeddings(RankContext& context, Parameter& positions, int64_t samples) {
  const Site site{
      "embedding.position_embeddings",
      "embedding",
      {.channels = context.config.hidden, .tokens_sharded = context.sequence_parallel()}};
  at::Tensor rows = positions.value;
  if (context.sequence_parallel()) {
    const int64_t tokens = rows.size(0) / context.config.tp;
    rows = rows.narrow(0, context.mesh.tp_rank * tokens, tokens);
  }
  return site_output(context, site,
                     rows.unsqueeze(1).expand({rows.size(0), samples, rows.size(1)}).contiguous());
}

}  // namespace

at::Tensor embed(RankContext& context, const Embedding& embedding, const at::Tensor& ids) {
  const at::Tensor words = word_embeddings(context, *embedding.words, ids);
  if (embedding.positions == nullptr) return words;
  return words + position_embeddings(context, *embedding.positions, ids.size(1));
}

}  // namespace nanhunt::mini
