// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/grad_buffer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>

#include "cases/mini/autograd.h"

namespace nanhunt::mini {
namespace {

constexpr int64_t kBuckets = 4;

PartialOver before_reduction(const Parameter& parameter) {
  return {.tp = parameter.sequence_parallel, .dp = true};
}

PartialOver after_reduction(const Parameter& parameter) {
  return {.tp = parameter.sequence_parallel};
}

// The weight of one linear of the drawn layer: element 0 qkv, 1 proj, 2 fc1, 3 fc2 (modulo 4).
std::string drawn_weight(const Fault& fault) {
  static const char* const kLinears[] = {"self_attention.linear_qkv", "self_attention.linear_proj",
                                         "mlp.linear_fc1", "mlp.linear_fc2"};
  return "decoder.layers." + std::to_string(fault.layer) + "." + kLinears[fault.element % 4] +
         ".weight";
}

}  // namespace

GradBuffer::GradBuffer(RankContext& context, Parameters& parameters) : context_(context) {
  const std::vector<Parameter*> reversed = parameters.reversed();
  int64_t total = 0;
  for (const Parameter* parameter : reversed) total += parameter->value.numel();
  int64_t filled = 0;
  for (Parameter* parameter : reversed) {
    if (buckets_.empty() || filled * kBuckets >= total * static_cast<int64_t>(buckets_.size())) {
      buckets_.emplace_back();
    }
    buckets_.back().parameters.push_back(parameter);
    filled += parameter->value.numel();
  }
  for (Bucket& bucket : buckets_) {
    for (Parameter* parameter : bucket.parameters) {
      bucket_of_[parameter] = &bucket;
      const unsigned position = parameter->value.register_hook(
          [this, parameter](const at::Tensor& gradient) { accumulate(*parameter, gradient); });
      hooks_.emplace_back(parameter, position);
    }
  }
  if (context.config.overlap_grad_reduce && context.config.dp > 1) {
    thread_ = std::make_unique<CommunicationThread>();
  }
}

GradBuffer::~GradBuffer() {
  for (const auto& [parameter, position] : hooks_) parameter->value.remove_hook(position);
  // A run that unwinds must not leave the thread holding a bucket.
  for (Bucket& bucket : buckets_) {
    if (bucket.held) bucket.wait_reached.set_value();
  }
}

void GradBuffer::begin_step() {
  for (Bucket& bucket : buckets_) {
    for (Parameter* parameter : bucket.parameters) parameter->main_grad.zero_();
    bucket.missing = bucket.parameters.size();
  }
}

void GradBuffer::begin_microbatch(bool last) { last_microbatch_ = last; }

void GradBuffer::end_microbatch() {
  for (const auto& [parameter, position] : hooks_) parameter->value.mutable_grad().reset();
}

void GradBuffer::accumulate(Parameter& parameter, const at::Tensor& gradient) {
  const at::NoGradGuard no_grad;
  const trace::DType dtype =
      context_.config.fused_grad_accumulation ? trace::DType::kFloat32 : context_.config.dtype;
  hooks::TapPoint point =
      parameter_point(context_, parameter, trace::Phase::kBackward, "grad",
                      {.tp = parameter.sequence_parallel, .dp = true, .microbatch = true});
  point.microbatch = context_.microbatch;
  point.rounded_to = dtype;
  parameter.main_grad.add_(context_.taps.tap(point, rounded(gradient, dtype)));
  if (!last_microbatch_) return;
  Bucket& bucket = *bucket_of_.at(&parameter);
  if (--bucket.missing == 0 && thread_) launch(bucket);
}

Parameter* GradBuffer::read_early(const Bucket& bucket) const {
  if (!thread_ || !context_.is(FaultName::kBucketReadEarly) ||
      context_.mesh.rank != context_.fault.rank) {
    return nullptr;
  }
  const std::string name = drawn_weight(context_.fault);
  for (Parameter* parameter : bucket.parameters) {
    if (parameter->name == name) return parameter;
  }
  return nullptr;
}

void GradBuffer::launch(Bucket& bucket) {
  const ReduceOptions options = context_.reduce_options(trace::DType::kFloat32);
  Group& group = thread_ ? context_.mesh.dp_overlapped : context_.mesh.dp;
  std::vector<Exchange> exchanges;
  std::vector<at::Tensor> operands, flattened;
  for (Parameter* parameter : bucket.parameters) {
    exchanges.push_back(
        {parameter->name, "main_grad",
         context_.placements.parameter(parameter->layout, before_reduction(*parameter)),
         context_.placements.parameter(parameter->layout, after_reduction(*parameter))});
    operands.push_back(parameter->main_grad);
    flattened.push_back(parameter->main_grad.view({-1}));
  }
  bucket.collective.emplace(context_, group, "all_reduce", options, thread_ != nullptr);
  bucket.collective->issue(exchanges, operands);
  bucket.flat = at::cat(flattened);
  const std::span<float> buffer = elements(bucket.flat);
  if (!thread_) {
    group.all_reduce(buffer, options);
    return;
  }
  bucket.held = read_early(bucket) != nullptr;
  bucket.wait_reached = {};
  std::shared_future<void> wait_reached;
  if (bucket.held) wait_reached = bucket.wait_reached.get_future().share();
  bucket.done = thread_->submit([&group, buffer, options, wait_reached] {
    // A slow link: the outcome of a read before the wait must not depend on speed.
    if (wait_reached.valid()) wait_reached.wait();
    group.all_reduce(buffer, options);
  });
}

void GradBuffer::complete(Bucket& bucket) {
  Parameter* const early = read_early(bucket);
  std::vector<at::Tensor> results;
  int64_t offset = 0;
  at::Tensor early_copy;
  for (Parameter* parameter : bucket.parameters) {
    const int64_t numel = parameter->main_grad.numel();
    results.push_back(bucket.flat.narrow(0, offset, numel).view(parameter->main_grad.sizes()));
    if (parameter == early) early_copy = results.back().clone();
    offset += numel;
  }
  if (bucket.held) {
    bucket.held = false;
    bucket.wait_reached.set_value();
  }
  if (bucket.done.valid()) bucket.done.get();
  for (size_t i = 0; i < results.size(); ++i) {
    if (bucket.parameters[i] == early) results[i] = early_copy;
    results[i] = bucket.parameters[i]->main_grad.copy_(results[i]);
  }
  results = bucket.collective->complete(results);
  for (size_t i = 0; i < results.size(); ++i) bucket.parameters[i]->main_grad = results[i];
  bucket.collective.reset();
}

void GradBuffer::finish() {
  if (context_.config.dp == 1) return;
  const at::NoGradGuard no_grad;
  for (Bucket& bucket : buckets_) {
    // With overlap too, where a parameter of the bucket got no gradient.
    if (!bucket.collective) launch(bucket);
    complete(bucket);
  }
}

}  // namespace nanhunt::mini
