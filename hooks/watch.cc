// SPDX-License-Identifier: Apache-2.0
#include "hooks/watch.h"

#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "hooks/collective_watch.h"
#include "hooks/op_listener.h"
#include "hooks/optimizer_state.h"
#include "hooks/watch_points.h"
#include "hooks/watch_recorder.h"

namespace nanhunt::hooks {
namespace {

std::vector<NamedParameter> parameters_of(torch::nn::Module& model) {
  std::vector<NamedParameter> parameters;
  for (const auto& item : model.named_parameters()) {
    if (item.value().defined()) parameters.push_back({item.key(), item.value()});
  }
  return parameters;
}

}  // namespace

struct Watch::Impl : OpListener {
  Impl(torch::nn::Module& model, torch::optim::Optimizer& of_model, const WatchOptions& options);

  bool on() const override { return watched.rank->on(); }
  void perturb();
  void begin_step();
  void before_op(const at::RecordFunction& function) override;
  std::optional<CollectiveWatch::Issued> before_collective(
      const at::RecordFunction& function) override;
  void after_collective(CollectiveWatch::Issued issued) override {
    collectives.pending(std::move(issued));
  }
  void after_wait(const at::Tensor& result) override { collectives.waited(result); }
  void failed(const std::string& what) override { watched.rank->fail(what); }
  void before_optimizer();
  void after_optimizer();
  at::Tensor tap(const std::string& site, const at::Tensor& tensor, trace::Phase phase,
                 std::optional<Samples> samples);

  torch::optim::Optimizer& optimizer;
  WatchedRank watched;
  WatchPoints points;
  RankTaps taps;
  CollectiveWatch collectives;
  std::mutex names_mutex;  // a communication thread names its groups and collectives, too
  GroupRanks groups;
  int64_t unnamed_collectives = 0;
  int64_t step = 0;
  bool in_step = false;
};

namespace {

thread_local std::weak_ptr<Watch::Impl> watch_of_thread;

// Before RankTaps is made (op_listener.h).
WatchedRank observed(WatchedRank watched) {
  if (watched.rank->on()) observe_ops();
  return watched;
}

}  // namespace

Watch::Impl::Impl(torch::nn::Module& model, torch::optim::Optimizer& of_model,
                  const WatchOptions& options)
    : optimizer(of_model),
      watched(observed(watched_rank(options))),
      points(on() ? parameters_of(model) : std::vector<NamedParameter>{},
             watched.rank->facts().world_size),
      taps(*watched.rank),
      collectives(taps, [this](const C10dCall& call, trace::Phase phase, const at::Tensor& tensor,
                               size_t index) {
        std::lock_guard lock(names_mutex);
        return points.collective(call, phase, tensor, index, unnamed_collectives);
      }) {}

void Watch::Impl::perturb() {
  for (const NamedParameter& parameter : points.parameters()) {
    at::Tensor tensor = parameter.tensor;
    taps.perturb_parameter(parameter.name, tensor);
  }
}

void Watch::Impl::begin_step() {
  if (in_step) return;
  in_step = true;
  taps.begin_step(step);
  for (const NamedParameter& parameter : points.parameters()) {
    taps.tap(points.parameter(parameter, trace::Phase::kForward, "param"), parameter.tensor);
    taps.tap_gradient(points.local_gradient(parameter), parameter.tensor);
  }
}

void Watch::Impl::before_op(const at::RecordFunction& function) {
  const bool look_for_parameters = !in_step && at::GradMode::is_enabled();
  if ((!look_for_parameters && collectives.idle()) || !on()) return;
  each_use(function, [&](const at::Tensor& tensor, bool overwritten) {
    if (look_for_parameters && points.is_parameter(tensor)) begin_step();
    collectives.before_use(tensor, overwritten);
  });
}

std::optional<CollectiveWatch::Issued> Watch::Impl::before_collective(
    const at::RecordFunction& function) {
  std::unique_lock lock(names_mutex);
  const auto call = read_c10d_call(function, watched.rank->facts().world_size, groups);
  lock.unlock();
  if (!call) return std::nullopt;
  const auto moves_parameter = [&](const at::Tensor& tensor) {
    return points.is_parameter(tensor);
  };
  if (!in_step && std::any_of(call->results.begin(), call->results.end(), moves_parameter)) {
    begin_step();
  }
  if (!in_step) return std::nullopt;
  if (call->collective.group.empty()) {
    watched.rank->fact("collectives.group." + call->group_name, "global ranks unknown");
  }
  auto issued = collectives.issue(*call);
  lock.lock();
  ++unnamed_collectives;
  return issued;
}

void Watch::Impl::before_optimizer() {
  begin_step();
  collectives.finish();
  for (const NamedParameter& parameter : points.parameters()) {
    const at::Tensor gradient = parameter.tensor.grad();
    if (!gradient.defined()) continue;
    taps.tap(points.parameter(parameter, trace::Phase::kUnscaled, "grad"), gradient);
  }
}

void Watch::Impl::after_optimizer() {
  for (const NamedParameter& parameter : points.parameters()) {
    const ParameterUpdate update = update_of(optimizer, parameter.tensor);
    const auto record = [&](const std::string& role, const at::Tensor& tensor) {
      TapPoint point = points.parameter(parameter, trace::Phase::kUpdate, role);
      point.op = update.op;
      point.attributes = update.attributes;
      taps.tap(point, tensor);
    };
    for (const auto& [role, moment] : update.moments) record(role, moment);
    record("param", parameter.tensor);
  }
  collectives.finish();
  taps.end_step();
  in_step = false;
  ++step;
  std::lock_guard lock(names_mutex);
  unnamed_collectives = 0;
}

at::Tensor Watch::Impl::tap(const std::string& site, const at::Tensor& tensor, trace::Phase phase,
                            std::optional<Samples> samples) {
  begin_step();
  collectives.before_use(tensor, false);
  return taps.tap(points.activation(site, phase, "output", tensor, samples),
                  points.activation(site, trace::Phase::kBackward, "grad_output", tensor, samples),
                  tensor);
}

Watch::Watch(torch::nn::Module& model, torch::optim::Optimizer& optimizer,
             const WatchOptions& options)
    : impl_(std::make_shared<Impl>(model, optimizer, options)) {
  if (!on()) return;
  impl_->perturb();
  watch_of_thread = impl_;
  listen_on_this_thread(impl_);
}

Watch::~Watch() {
  stop_listening_on_this_thread();
  if (on()) impl_->collectives.finish();
}

bool Watch::on() const {
  return impl_->on();
}
RankTaps& Watch::taps() {
  return impl_->taps;
}

// What goes wrong in our part ends the capture, never the step.
template <class Part>
static void guarded(Watch::Impl& impl, Part part) {
  if (!impl.on()) return;
  try {
    part();
  } catch (const std::exception& error) {
    impl.watched.rank->fail(error.what());
  }
}

void Watch::before_optimizer() {
  guarded(*impl_, [&] { impl_->before_optimizer(); });
}

void Watch::after_optimizer() {
  guarded(*impl_, [&] { impl_->after_optimizer(); });
}

void Watch::step() {
  before_optimizer();
  impl_->optimizer.step();
  after_optimizer();
}

at::Tensor Watch::tap(const std::string& site, const at::Tensor& activation,
                      std::optional<Samples> samples) {
  at::Tensor result = activation;
  guarded(*impl_, [&] { result = impl_->tap(site, activation, trace::Phase::kForward, samples); });
  return result;
}

at::Tensor Watch::tap_loss(const at::Tensor& loss) {
  at::Tensor result = loss;
  guarded(*impl_, [&] { result = impl_->tap("loss", loss, trace::Phase::kLoss, std::nullopt); });
  return result;
}

void Watch::group(const std::string& name, const std::vector<int32_t>& ranks) {
  std::lock_guard lock(impl_->names_mutex);
  impl_->groups[name] = ranks;
}

at::Tensor tap(const std::string& site, const at::Tensor& activation,
               std::optional<Samples> samples) {
  const auto watch = watch_of_thread.lock();
  if (!watch) return activation;
  at::Tensor result = activation;
  guarded(*watch, [&] { result = watch->tap(site, activation, trace::Phase::kForward, samples); });
  return result;
}

at::Tensor tap_loss(const at::Tensor& loss) {
  const auto watch = watch_of_thread.lock();
  if (!watch) return loss;
  at::Tensor result = loss;
  guarded(*watch, [&] { result = watch->tap("loss", loss, trace::Phase::kLoss, std::nullopt); });
  return result;
}

}  // namespace nanhunt::hooks
