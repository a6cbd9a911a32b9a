// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/capsules.h"

#include <ATen/core/grad_mode.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>

#include "capsule/load.h"
#include "capsule/verify.h"
#include "cases/mini/run_state.h"
#include "hooks/tensor_view.h"
#include "trace/error.h"

namespace nanhunt::mini {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw trace::Error(trace::ErrorKind::kUnreadable, what);
}

trace::DType dtype_of(const at::Tensor& tensor) {
  return *hooks::dtype_of(tensor.scalar_type());
}

std::span<std::byte> bytes_of(const at::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.data_ptr()), tensor.nbytes()};
}

capsule::Wanted wanted(const StateTensor& state) {
  return {state.site, state.role, dtype_of(state.tensor), state.tensor.sizes().vec(),
          state.placement};
}

bool left_out(const Config& config, const StateTensor& state) {
  if (config.capsules.leave_out.empty()) return false;
  const auto kind = capsule::kind_of(state.site, state.role);
  return capsule::facts_of(kind).name == config.capsules.leave_out;
}

// A number of the capsule, at `site` and `role`; nothing where it has none.
template <class Number>
void take(const capsule::Capsule& capsule, const char* site, const char* role, Number& value) {
  const capsule::Entry* entry = capsule.find(site, role);
  if (entry == nullptr) return;
  const auto& record = capsule.step().records[static_cast<size_t>(entry->records.front())];
  if (trace::size_of(record.storage) != sizeof value || !record.local_shape.empty())
    refuse(capsule::name_of(*entry) + " is no number of 8 bytes in the capsule");
  Number found{};
  std::memcpy(&found, capsule::read_piece(capsule, record).data(), sizeof found);
  if (found != value) {
    std::fprintf(stderr, "mini: %s %s is %.17g in the capsule, not %.17g: taken from the capsule\n",
                 site, role, static_cast<double>(found), static_cast<double>(value));
  }
  value = found;
}

// Loads into copies first: nothing of the run is touched before all of it is there.
std::vector<std::string> load_all(const RankContext& context, const capsule::Capsule& capsule,
                                  const std::vector<StateTensor>& state) {
  std::vector<capsule::Wanted> all;
  for (const StateTensor& tensor : state) all.push_back(wanted(tensor));
  const auto plan =
      capsule::plan_load(capsule, all, context.mesh.rank,
                         capsule::same_layout(capsule, context.taps.recorder().facts()));
  for (size_t i = 0; i < state.size(); ++i) {
    if (plan.tensors[i].outcome == capsule::Outcome::kCannot) refuse(plan.tensors[i].why);
    if (plan.tensors[i].outcome != capsule::Outcome::kLoaded) continue;
    const at::Tensor loaded = state[i].tensor.clone();
    capsule::load(capsule, all[i], plan.tensors[i], bytes_of(loaded));
    std::memcpy(state[i].tensor.data_ptr(), loaded.data_ptr(), loaded.nbytes());
  }
  return plan.obstacles();
}

// Refused unless --resume-rebuild allows it; then each is said.
void say_lost(const RankContext& context, const std::vector<std::string>& lost, const char* deed) {
  if (lost.empty()) return;
  if (!context.config.capsules.rebuild) {
    refuse("capsule " + context.config.capsules.resume + ": " + lost.front() +
           (lost.size() > 1 ? " (and " + std::to_string(lost.size() - 1) + " more)" : "") +
           "; --resume-rebuild=on goes on without it");
  }
  if (context.mesh.rank != 0) return;
  for (const std::string& what : lost) std::fprintf(stderr, "mini: %s: %s\n", deed, what.c_str());
}

// What the capsule has and this program has not.
std::vector<std::string> unknown(const capsule::Capsule& capsule,
                                 const std::vector<StateTensor>& state) {
  std::vector<capsule::Wanted> all;
  for (const StateTensor& tensor : state) all.push_back(wanted(tensor));
  auto names = capsule::plan_load(capsule, all, 0, false).unused;
  for (std::string& name : names) name = capsule::unused_text(name);
  return names;
}

// The capsule's batch against the one that the run would read.
void check_batch(const std::vector<StateTensor>& loaded, const std::vector<StateTensor>& drawn) {
  for (size_t i = 0; i < drawn.size(); ++i) {
    if (!loaded[i].tensor.equal(drawn[i].tensor)) {
      refuse("data.batch " + drawn[i].role +
             ": the run would read another batch than the capsule's next one; text, seed or shape "
             "is another");
    }
  }
}

// What the calibration does to parameters that are drawn, it does to those that are loaded: the
// master moves with its value.
void move_parameters(RankContext& context, Model& model) {
  const auto& plan = context.taps.recorder().plan().perturbation;
  if (!context.taps.on() || !plan || !plan->ulp_parameters) return;
  for (Parameter& parameter : model.parameters.in_model_order()) {
    const at::Tensor value = parameter.value.detach();
    at::Tensor moved = value.to(hooks::scalar_type_of(context.config.dtype));
    context.taps.perturb_parameter(parameter.name, moved);
    moved = moved.to(at::kFloat);
    parameter.master.add_(moved - value);
    value.copy_(moved);
  }
}

// What the loading program of a public report forgot.
void break_loaded(RankContext& context, Model& model) {
  for (Parameter& parameter : model.parameters.in_model_order()) {
    if (context.is_resumed_with(FaultName::kMastersFromValues))
      parameter.master.copy_(parameter.value.detach());
    if (parameter.frozen && context.is_resumed_with(FaultName::kFrozenMomentLost))
      parameter.exp_avg.zero_();
  }
}

// Whether both are there and one.
bool same_folder(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code ignored;
  return std::filesystem::equivalent(a, b, ignored);
}

// What the optimizer keeps starts anew from the loaded values.
void take_parameters_alone(RankContext& context, std::vector<StateTensor>& state) {
  if (!parameters_alone(context.config, context.fault)) return;
  std::erase_if(state, [](const StateTensor& tensor) {
    const auto kind = capsule::kind_of(tensor.site, tensor.role);
    return kind != capsule::Kind::kParameters && kind != capsule::Kind::kBatch;
  });
}

void make_masters(RankContext& context, Model& model) {
  if (!parameters_alone(context.config, context.fault)) return;
  for (Parameter& parameter : model.parameters.in_model_order())
    parameter.master.copy_(parameter.value.detach());
}

void forget_values(RankContext& context, std::vector<StateTensor>& state) {
  if (context.mesh.dp_rank == 0 || !context.is_resumed_with(FaultName::kValuesNotGathered)) return;
  std::erase_if(state, [](const StateTensor& tensor) { return tensor.role == "param"; });
}

}  // namespace

bool capsule_is_due(const Config& config, int64_t step) {
  const CapsuleOptions& options = config.capsules;
  if (options.every <= 0 || step % options.every != 0) return false;
  return options.rebuild || step != config.first_step ||
         !same_folder(options.resume, options.out);
}

void write_capsule(RankContext& context, Model& model, const Batch& next, hooks::RankCapsule& out) {
  out.begin(context.step);
  for (const auto& list :
       {parameter_state(context, model), shared_state(context), batch_state(context, next)}) {
    for (const StateTensor& state : list) {
      if (left_out(context.config, state)) continue;
      out.add(state.site, state.role,
              trace::contiguous_view(state.tensor.data_ptr(), dtype_of(state.tensor),
                                     state.tensor.sizes().vec()),
              state.placement);
    }
  }
  out.end();
}

void resume_config(Config& config) {
  const capsule::Capsule capsule(config.capsules.resume, config.capsules.resume_step);
  capsule.require_whole();
  config.first_step = capsule.step().step;
  if (config.first_step > config.steps) {
    throw trace::Error(trace::ErrorKind::kUsage,
                       "the capsule is of step " + std::to_string(config.first_step) +
                           ", beyond --steps=" + std::to_string(config.steps));
  }
  take(capsule, "rng.counter", "seed", config.seed);
  if (config.capsules.parameters_alone) return;
  const char* group = "optimizer.groups.0";
  take(capsule, group, "lr", config.learning_rate);
  take(capsule, group, "beta1", config.beta1);
  take(capsule, group, "beta2", config.beta2);
  take(capsule, group, "eps", config.adam_eps);
  take(capsule, group, "weight_decay", config.weight_decay);
  take(capsule, group, "max_norm", config.clip);
}

void resume_rank(RankContext& context, Model& model, const Batch& next) {
  const at::NoGradGuard no_grad;
  const capsule::Capsule capsule(context.config.capsules.resume, context.config.first_step);
  const std::vector<StateTensor> drawn = batch_state(context, next),
                                 loaded = batch_state(context, next);
  std::vector<StateTensor> all = parameter_state(context, model);
  const std::vector<StateTensor> shared = shared_state(context);
  all.insert(all.end(), shared.begin(), shared.end());
  all.insert(all.end(), loaded.begin(), loaded.end());
  say_lost(context, unknown(capsule, all), "dropped");
  take_parameters_alone(context, all);
  forget_values(context, all);
  say_lost(context, load_all(context, capsule, all), "rebuilt");
  make_masters(context, model);
  check_batch(loaded, drawn);
  break_loaded(context, model);
  move_parameters(context, model);
}

}  // namespace nanhunt::mini
