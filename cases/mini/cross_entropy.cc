// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/cross_entropy.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include "cases/mini/autograd.h"
#include "cases/mini/collectives.h"

namespace nanhunt::mini {
namespace {

// Shows a value per token to the taps; over tp it is reduced first.
at::Tensor reduced(RankContext& context, const std::string& role, const at::Tensor& values,
                   trace::ReduceOp op) {
  ActivationLayout layout{.batch_first = context.config.batch_first};
  const SharedPlacement after = context.placements.activation(layout, context.microbatch);
  layout.partial = true;
  layout.partial_op = op;
  const SharedPlacement before = context.placements.activation(layout, context.microbatch);
  const at::Tensor total = all_reduce(
      context, context.mesh.tp,
      {"loss", role, before, after, trace::DType::kFloat32, context.microbatch}, values, op);
  hooks::TapPoint point;
  point.site = "loss";
  point.phase = trace::Phase::kLoss;
  point.role = role;
  point.microbatch = context.microbatch;
  point.placement = after;
  point.op = "cross_entropy";
  return context.taps.tap(point, total);
}

struct Parts {
  at::Tensor exponentials;  // of this rank's vocabulary
  at::Tensor sum;           // over all of it
  at::Tensor local, owned;  // label within the shard, and whether it is there
  at::Tensor loss;
};

Parts evaluate(RankContext& context, const at::Tensor& logits, const at::Tensor& labels) {
  Parts parts;
  const int64_t size = logits.size(-1);
  const at::Tensor shifted_labels = labels - context.mesh.tp_rank * size;
  parts.owned = shifted_labels.ge(0).logical_and(shifted_labels.lt(size));
  parts.local = shifted_labels.clamp(0, size - 1).unsqueeze(-1);
  const at::Tensor maximum =
      reduced(context, "logits_max", logits.amax({-1}), trace::ReduceOp::kMax);
  const at::Tensor shifted = logits - maximum.unsqueeze(-1);
  const at::Tensor target =
      reduced(context, "target_logit",
              shifted.gather(-1, parts.local).squeeze(-1).masked_fill(parts.owned.logical_not(), 0),
              trace::ReduceOp::kSum);
  parts.exponentials = shifted.exp();
  parts.sum = reduced(context, "sum_exp", parts.exponentials.sum({-1}), trace::ReduceOp::kSum);
  parts.loss = parts.sum.log() - target;
  return parts;
}

at::Tensor tap_token_loss(RankContext& context, const at::Tensor& loss) {
  hooks::TapPoint point;
  point.site = "loss";
  point.phase = trace::Phase::kLoss;
  point.role = "token_loss";
  point.microbatch = context.microbatch;
  point.placement = context.placements.activation({.batch_first = context.config.batch_first},
                                                  context.microbatch);
  point.op = "cross_entropy";
  return context.taps.tap(point, loss);
}

}  // namespace

at::Tensor cross_entropy(RankContext& context, const at::Tensor& logits, const at::Tensor& labels) {
  Parts parts;
  const auto forward = [&] {
    parts = evaluate(context, logits.detach(), labels);
    return tap_token_loss(context, parts.loss);
  };
  at::Tensor loss;
  {
    const at::NoGradGuard no_grad;
    loss = forward();
  }
  return with_backward(
      {logits}, [&] { return loss; },
      [parts = Parts{parts.exponentials, parts.sum, parts.local, parts.owned, {}}](
          const at::Tensor& gradient) -> std::vector<at::Tensor> {
        const at::Tensor grad_logits = parts.exponentials / parts.sum.unsqueeze(-1);
        const at::Tensor onehot = parts.owned.to(at::kFloat).unsqueeze(-1);
        grad_logits.scatter_add_(-1, parts.local, onehot.neg());
        return {grad_logits * gradient.unsqueeze(-1)};
      });
}

}  // namespace nanhunt::mini
