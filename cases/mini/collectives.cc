// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/collectives.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <utility>

#include "cases/mini/autograd.h"
#include "cases/mini/output_faults.h"
#include "trace/check.h"

namespace nanhunt::mini {
namespace {

std::string order_name(ReduceOrder order) {
  switch (order) {
    case ReduceOrder::kRank:
      return "rank";
    case ReduceOrder::kRing:
      return "ring";
    case ReduceOrder::kTree:
      return "tree";
  }
  return "";
}

hooks::TapPoint point_of(const Exchange& exchange, trace::Phase phase,
                         const SharedPlacement& placement, const std::string& op) {
  hooks::TapPoint point;
  point.site = exchange.site;
  point.phase = phase;
  point.role = exchange.role;
  point.microbatch = exchange.microbatch;
  point.placement = placement;
  point.rounded_to = exchange.storage;
  point.op = op;
  return point;
}

Exchange exchange_of(RankContext& context, const TensorParallelPlaces& places,
                     const std::string& role, const ActivationLayout& before,
                     const ActivationLayout& after) {
  return {places.site,
          role,
          context.placements.activation(before, context.microbatch),
          context.placements.activation(after, context.microbatch),
          context.config.dtype,
          context.microbatch};
}

ActivationLayout partial(ActivationLayout layout) {
  layout.partial = true;
  return layout;
}

ActivationLayout token_shard(ActivationLayout layout) {
  layout.tokens_sharded = true;
  return layout;
}

at::Tensor all_gather_tokens(RankContext& context, const Exchange& exchange,
                             const at::Tensor& shard) {
  Group& group = context.mesh.tp;
  const at::Tensor input = shard.contiguous();
  std::vector<int64_t> shape = input.sizes().vec();
  shape[0] *= group.size();
  const at::Tensor output = at::empty(shape, input.options());
  TappedCollective collective(context, group, "all_gather", {});
  collective.issue({exchange}, {input});
  group.all_gather(elements(input), elements(output));
  return collective.complete({output})[0];
}

at::Tensor reduce_scatter_tokens(RankContext& context, const Exchange& exchange,
                                 const at::Tensor& partial_sums, int64_t layer) {
  const bool over_world =
      layer >= 0 && context.is_in_layer(FaultName::kReduceScatterOnWorld, layer);
  Group& group = over_world ? context.mesh.world : context.mesh.tp;
  at::Tensor input = partial_sums.contiguous();
  std::vector<int64_t> shape = input.sizes().vec();
  shape[0] /= context.mesh.tp.size();
  const at::Tensor output = at::empty(shape, input.options());
  const ReduceOptions options = context.reduce_options(exchange.storage);
  TappedCollective collective(context, group, "reduce_scatter", options);
  collective.issue({exchange}, {input});
  if (layer >= 0) input = without_row_share(context, layer, input);
  // Over the world each replica's ranks take their piece of the tokens, as they do in the tp group.
  const at::Tensor pieces =
      over_world ? at::cat(std::vector<at::Tensor>(context.config.dp, input)) : input;
  group.reduce_scatter(elements(pieces), elements(output), options);
  return collective.complete({output})[0];
}

}  // namespace

TappedCollective::TappedCollective(RankContext& context, const Group& group, std::string op,
                                   const ReduceOptions& options, bool asynchronous)
    : context_(context), group_size_(group.size()) {
  collective_.step = context.step;
  collective_.rank = context.mesh.rank;
  collective_.op = std::move(op);
  collective_.group.assign(group.ranks().begin(), group.ranks().end());
  collective_.reduce = options.op;
  collective_.accumulate = options.accumulate_in_storage ? options.storage : trace::DType::kFloat32;
  if (collective_.is_reduction()) collective_.order = order_name(options.order);
  collective_.async = asynchronous;
  collective_.group_sequence = context.group_sequence[group.ranks()]++;
}

void TappedCollective::issue(const std::vector<Exchange>& exchanges,
                             const std::vector<at::Tensor>& operands) {
  exchanges_ = exchanges;
  std::vector<hooks::TapPoint> points;
  for (const Exchange& exchange : exchanges) {
    points.push_back(
        point_of(exchange, trace::Phase::kPreCollective, exchange.before, collective_.op));
  }
  const int segments = collective_.op == "reduce_scatter" ? group_size_ : 0;
  call_ = context_.taps.issue(collective_, points, operands, segments);
}

std::vector<at::Tensor> TappedCollective::complete(const std::vector<at::Tensor>& results) {
  std::vector<hooks::TapPoint> points;
  for (const Exchange& exchange : exchanges_) {
    points.push_back(
        point_of(exchange, trace::Phase::kPostCollective, exchange.after, collective_.op));
  }
  const int segments = collective_.op == "all_gather" ? group_size_ : 0;
  return context_.taps.complete(call_, points, results, segments);
}

std::span<float> elements(const at::Tensor& tensor) {
  NANHUNT_CHECK(tensor.is_contiguous() && tensor.scalar_type() == at::kFloat);
  return {tensor.data_ptr<float>(), static_cast<size_t>(tensor.numel())};
}

at::Tensor all_reduce(RankContext& context, Group& group, const Exchange& exchange,
                      const at::Tensor& tensor, trace::ReduceOp op) {
  if (group.size() == 1) return tensor;
  const ReduceOptions options = context.reduce_options(exchange.storage, op);
  TappedCollective collective(context, group, "all_reduce", options);
  collective.issue({exchange}, {tensor});
  group.all_reduce(elements(tensor), options);
  return collective.complete({tensor})[0];
}

at::Tensor copy_to_tensor_parallel(RankContext& context, const TensorParallelPlaces& places,
                                   const at::Tensor& tensor) {
  if (context.config.tp == 1) return tensor;
  return with_backward(
      {tensor}, [&] { return tensor.detach(); },
      [&context, places](const at::Tensor& gradient) -> std::vector<at::Tensor> {
        const ReduceOptions options = context.reduce_options(context.config.dtype);
        TappedCollective collective(context, context.mesh.tp, "all_reduce", options);
        collective.issue(
            {exchange_of(context, places, "grad_input", partial(places.whole), places.whole)},
            {gradient});
        // A gradient that is not contiguous (transposed output head) is reduced in a copy.
        const at::Tensor buffer = gradient.contiguous();
        context.mesh.tp.all_reduce(elements(buffer), options);
        if (context.is(FaultName::kReducedCopyDropped) && places.site == "output_layer") {
          return collective.complete({gradient});
        }
        return collective.complete({buffer});
      });
}

at::Tensor reduce_from_tensor_parallel(RankContext& context, const TensorParallelPlaces& places,
                                       const at::Tensor& tensor, int64_t layer) {
  if (context.config.tp == 1) return tensor;
  const auto forward = [&] {
    const ReduceOptions options = context.reduce_options(context.config.dtype);
    TappedCollective collective(context, context.mesh.tp, "all_reduce", options);
    collective.issue({exchange_of(context, places, "output", partial(places.whole), places.whole)},
                     {tensor});
    at::Tensor buffer = tensor.clone();
    if (layer >= 0) buffer = without_row_share(context, layer, buffer);
    context.mesh.tp.all_reduce(elements(buffer), options);
    return collective.complete({buffer})[0];
  };
  return with_backward(
      {tensor}, forward,
      [&context, places, layer](const at::Tensor& gradient) -> std::vector<at::Tensor> {
        if (layer >= 0 && context.is_in_layer(FaultName::kRowGradReducedAgain, layer)) {
          return {all_reduce(
              context, context.mesh.tp,
              exchange_of(context, places, "grad_output", partial(places.whole), places.whole),
              gradient.clone())};
        }
        return {gradient};
      });
}

at::Tensor gather_from_sequence_parallel(RankContext& context, const TensorParallelPlaces& places,
                                         const at::Tensor& tensor) {
  const ActivationLayout shard = token_shard(places.whole);
  const auto forward = [&] {
    return all_gather_tokens(context, exchange_of(context, places, "input", shard, places.whole),
                             tensor);
  };
  return with_backward(
      {tensor}, forward,
      [&context, places, shard](const at::Tensor& gradient) -> std::vector<at::Tensor> {
        return {reduce_scatter_tokens(
            context, exchange_of(context, places, "grad_input", partial(places.whole), shard),
            gradient, -1)};
      });
}

at::Tensor reduce_scatter_to_sequence_parallel(RankContext& context,
                                               const TensorParallelPlaces& places,
                                               const at::Tensor& tensor, int64_t layer) {
  const ActivationLayout shard = token_shard(places.whole);
  const auto forward = [&] {
    return reduce_scatter_tokens(
        context, exchange_of(context, places, "output", partial(places.whole), shard), tensor,
        layer);
  };
  return with_backward(
      {tensor}, forward,
      [&context, places, shard](const at::Tensor& gradient) -> std::vector<at::Tensor> {
        return {all_gather_tokens(
            context, exchange_of(context, places, "grad_output", shard, places.whole), gradient)};
      });
}

}  // namespace nanhunt::mini
