// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/trainer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include "cases/mini/adamw.h"
#include "cases/mini/collectives.h"
#include "cases/mini/grad_buffer.h"

namespace nanhunt::mini {
namespace {

// The step's loss over all data-parallel ranks, for the log.
double global_loss(RankContext& context, const at::Tensor& share) {
  return all_reduce(
             context, context.mesh.dp,
             {"loss", "loss", context.placements.scalar({.dp = true}), context.placements.scalar()},
             share)
      .item<double>();
}

StepResult train_step(RankContext& context, Model& model, GradBuffer& gradients,
                      const Batch& batch) {
  context.group_sequence.clear();
  tap_parameters(context, model.parameters);
  gradients.begin_step();
  const at::Tensor loss = at::zeros({}, at::kFloat);
  for (int32_t microbatch = 0; microbatch < context.config.microbatches; ++microbatch) {
    context.microbatch = microbatch;
    const at::Tensor share = forward_loss(context, model, local_batch(context, batch));
    gradients.begin_microbatch(microbatch + 1 == context.config.microbatches);
    share.backward();
    gradients.end_microbatch();
    loss.add_(share.detach());
  }
  gradients.finish();
  const OptimizerGradients final_gradients = finalize_gradients(context, model.parameters);
  update_parameters(context, final_gradients, context.optimizer_step() + 1);
  return {context.step, global_loss(context, loss), final_gradients.norm};
}

Batch next_batch(const RankContext& context, const std::string& text) {
  const int64_t first = context.config.first_step;
  const bool anew =
      context.step > first && context.is_resumed_with(FaultName::kDataFromStart);
  return draw_batch(text, context.config, anew ? context.step - first : context.step);
}

}  // namespace

void train(RankContext& context, const std::string& text, hooks::RankCapsule* capsule,
           const std::function<void(const StepResult&, const Model&)>& on_step) {
  const Config& config = context.config;
  Model model = build_model(context);
  GradBuffer gradients(context, model.parameters);
  context.step = config.first_step;
  if (!config.capsules.resume.empty()) {
    resume_rank(context, model, draw_batch(text, config, context.step));
  }
  const auto keep_state = [&](const Batch& next) {
    if (capsule != nullptr && capsule_is_due(config, context.step)) {
      write_capsule(context, model, next, *capsule);
    }
  };
  for (; context.step < config.steps; ++context.step) {
    const Batch batch = next_batch(context, text);
    keep_state(batch);
    context.taps.begin_step(context.step);
    const StepResult result = train_step(context, model, gradients, batch);
    context.taps.end_step();
    on_step(result, model);
  }
  keep_state(next_batch(context, text));
}

}  // namespace nanhunt::mini
