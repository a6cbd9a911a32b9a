// SPDX-License-Identifier: Apache-2.0
#include "hooks/rank_taps.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <thread>
#include <utility>

#include "hooks/flow_map.h"
#include "hooks/flow_observer.h"
#include "hooks/noise.h"
#include "hooks/poison.h"
#include "hooks/tensor_view.h"

namespace nanhunt::hooks {
namespace {

using trace::LinkGrade;

CarriedSet as_set(std::vector<int64_t> sequences) {
  std::erase_if(sequences, [](int64_t sequence) { return sequence < 0; });
  std::sort(sequences.begin(), sequences.end());
  sequences.erase(std::unique(sequences.begin(), sequences.end()), sequences.end());
  return sequences;
}

std::vector<trace::Link> links_of(const CarriedSet& set, LinkGrade grade) {
  std::vector<trace::Link> links;
  links.reserve(set.size());
  for (const int64_t sequence : set) links.push_back({sequence, grade});
  return links;
}

const std::shared_ptr<const trace::Placement>& unknown_placement() {
  static const std::shared_ptr<const trace::Placement> unknown = [] {
    trace::Placement placement;
    placement.mesh = {{trace::MeshAxis::kDp, trace::PlacementKind::kUnknown}};
    return std::make_shared<const trace::Placement>(std::move(placement));
  }();
  return unknown;
}

}  // namespace

struct RankTaps::Impl : std::enable_shared_from_this<RankTaps::Impl> {
  explicit Impl(RankRecorder& of_rank) : recorder(of_rank) {}

  // Where a record belongs besides its point.
  struct Context {
    trace::Lane lane = trace::Lane::kCompute;
    int64_t collective = -1;
    int segments = 0;
    double rounding = 0;  // squared
  };

  struct LeafHook {
    at::Tensor leaf;
    unsigned position;
  };

  RankRecorder& recorder;
  std::shared_ptr<FlowMap> flow = std::make_shared<FlowMap>();
  const std::thread::id owner = std::this_thread::get_id();
  int64_t step = 0;
  bool open = true;
  std::vector<LeafHook> leaf_hooks;

  // Nothing of ours may end the training run.
  template <class Work>
  void guarded(const char* what, Work work) {
    try {
      work();
    } catch (const std::exception& error) {
      recorder.fail(std::string(what) + ": " + error.what());
    } catch (...) {
      recorder.fail(std::string(what) + ": unknown exception");
    }
  }

  trace::Lane lane(trace::Lane elsewhere) const {
    return std::this_thread::get_id() == owner ? trace::Lane::kCompute : elsewhere;
  }

  int64_t write(const TapPoint& point, const at::Tensor& tensor, std::vector<trace::Link> links,
                const Context& context) {
    if (!recorder.wants(point.site, point.phase)) return -1;
    std::string refused;
    const auto host = host_tensor(tensor, point.rounded_to, &refused);
    if (!host) {
      recorder.fact("tap.skipped." + point.site + "." + point.role, refused);
      return -1;
    }
    Observation observation;
    observation.site = point.site;
    observation.phase = point.phase;
    observation.role = point.role;
    observation.microbatch = point.microbatch;
    observation.lane = context.lane;
    observation.tensor = host->view;
    observation.compute = point.compute;
    observation.placement = point.placement ? point.placement : unknown_placement();
    observation.op = point.op;
    observation.attributes = point.attributes;
    observation.links = std::move(links);
    observation.rounding = std::sqrt(context.rounding);
    observation.collective = context.collective;
    observation.segments = context.segments;
    return recorder.record(observation);
  }

  // Writes a row and lets the tensor's memory carry it; links nullopt: what the memory carried.
  int64_t take(const TapPoint& point, const at::Tensor& tensor,
               const std::vector<int64_t>* declared, Context context) {
    const Carried inputs =
        declared != nullptr ? Carried{as_set(*declared)} : flow->carried(tensor);
    const LinkGrade grade = declared != nullptr ? LinkGrade::kDeclared : LinkGrade::kFlow;
    context.rounding = inputs.rounding;
    const int64_t sequence = write(point, tensor, links_of(inputs.records, grade), context);
    if (sequence >= 0) {
      flow->assign(tensor, {{sequence}});
    } else if (declared != nullptr) {
      flow->assign(tensor, inputs);  // a filtered record is no gap in the chain
    }
    return sequence;
  }

  at::Tensor noisy(const TapPoint& point, const at::Tensor& tensor) {
    const auto& perturbation = recorder.plan().perturbation;
    if (!perturbation || perturbation->noise.empty() || point.copied) return tensor;
    at::Tensor result =
        with_noise(*perturbation, {point.site, point.phase, point.role, point.microbatch, step},
                   tensor, point.rounded_to);
    if (!result.is_same(tensor)) flow->assign(result, flow->carried(tensor));
    return result;
  }

  bool noise_planned(const TapPoint& point) const {
    const auto& plan = recorder.plan().perturbation;
    return plan && planned_noise(*plan, {point.site, point.phase, point.role, point.microbatch,
                                         step}) != nullptr;
  }

  at::Tensor on_gradient(const TapPoint& point, int64_t of_step, const at::Tensor& gradient) {
    at::Tensor replacement;  // undefined: the gradient stays as it is
    if (!open || of_step != step || !recorder.on() || !gradient.defined()) return replacement;
    guarded("gradient tap", [&] {
      const at::Tensor result = noisy(point, gradient);
      take(point, result, nullptr, {.lane = lane(trace::Lane::kAutograd)});
      if (!result.is_same(gradient)) replacement = result;
    });
    return replacement;
  }

  void watch_gradient(const TapPoint& point, const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.requires_grad()) return;
    if (!recorder.wants(point.site, point.phase) && !noise_planned(point)) return;
    const unsigned position = tensor.register_hook(
        [self = weak_from_this(), point, of_step = step](const at::Tensor& gradient) -> at::Tensor {
          const auto alive = self.lock();
          return alive ? alive->on_gradient(point, of_step, gradient) : at::Tensor();
        });
    // A graph dies with its step and its hooks with it; a leaf would collect them.
    if (tensor.is_leaf()) leaf_hooks.push_back({tensor, position});
  }

  void drop_leaf_hooks() {
    for (const LeafHook& hook : leaf_hooks) hook.leaf.remove_hook(hook.position);
    leaf_hooks.clear();
  }
};

RankTaps::RankTaps(RankRecorder& recorder) : impl_(std::make_shared<Impl>(recorder)) {
  if (!recorder.on()) return;
  impl_->guarded("flow observer", [&] {
    observe_flow();
    if (recorder.plan().poison) {
      poison_allocations();
      recorder.fact("poison", "on");
    }
    FlowMap::bind_to_this_thread(impl_->flow);
  });
}

RankTaps::~RankTaps() {
  impl_->guarded("end of taps", [&] { impl_->drop_leaf_hooks(); });
  impl_->open = false;
  impl_->flow->close();
}

bool RankTaps::on() const {
  return impl_->recorder.on();
}
RankRecorder& RankTaps::recorder() {
  return impl_->recorder;
}

void RankTaps::begin_step(int64_t step) {
  if (!on()) return;
  impl_->guarded("begin of step", [&] {
    impl_->drop_leaf_hooks();
    impl_->flow->begin_step();
    impl_->step = step;
    FlowMap::bind_to_this_thread(impl_->flow);
    impl_->recorder.begin_step(step);
  });
}

void RankTaps::end_step() {
  if (!on()) return;
  impl_->guarded("end of step", [&] { impl_->recorder.end_step(); });
}

at::Tensor RankTaps::tap(const TapPoint& point, const at::Tensor& tensor) {
  if (!on()) return tensor;
  at::Tensor result = tensor;
  impl_->guarded("tap", [&] {
    result = impl_->noisy(point, tensor);
    impl_->take(point, result, nullptr, {.lane = impl_->lane(trace::Lane::kCommunication)});
  });
  return result;
}

at::Tensor RankTaps::tap(const TapPoint& point, const TapPoint& backward,
                         const at::Tensor& tensor) {
  return tap_gradient(backward, tap(point, tensor));
}

at::Tensor RankTaps::tap_gradient(const TapPoint& backward, const at::Tensor& tensor) {
  if (on()) impl_->guarded("gradient tap", [&] { impl_->watch_gradient(backward, tensor); });
  return tensor;
}

at::Tensor RankTaps::tap(const TapPoint& point, const at::Tensor& tensor,
                         const std::vector<int64_t>& links) {
  if (!on()) return tensor;
  at::Tensor result = tensor;
  impl_->guarded("tap", [&] {
    result = impl_->noisy(point, tensor);
    impl_->take(point, result, &links, {.lane = impl_->lane(trace::Lane::kCommunication)});
  });
  return result;
}

std::vector<int64_t> RankTaps::carried(const at::Tensor& tensor) const {
  std::vector<int64_t> set;
  if (on()) impl_->guarded("carried", [&] { set = impl_->flow->carried(tensor).records; });
  return set;
}

int64_t RankTaps::scalar(const TapPoint& point, double value, const std::vector<int64_t>& links) {
  int64_t sequence = -1;
  if (!on() || !impl_->recorder.wants(point.site, point.phase)) return sequence;
  impl_->guarded("scalar tap", [&] {
    Observation observation;
    observation.site = point.site;
    observation.phase = point.phase;
    observation.role = point.role;
    observation.microbatch = point.microbatch;
    observation.lane = impl_->lane(trace::Lane::kCommunication);
    observation.tensor = trace::contiguous_view(&value, trace::DType::kFloat64, {});
    observation.compute = point.compute;
    observation.placement = point.placement ? point.placement : unknown_placement();
    observation.op = point.op;
    observation.attributes = point.attributes;
    observation.links = links_of(as_set(links), LinkGrade::kDeclared);
    sequence = impl_->recorder.record(observation);
  });
  return sequence;
}

CollectiveCall RankTaps::issue(trace::Collective collective, const std::vector<TapPoint>& points,
                               const std::vector<at::Tensor>& operands, int segments) {
  CollectiveCall call;
  if (!on()) return call;
  impl_->guarded("issue of a collective", [&] {
    call.log_index = impl_->recorder.issue_collective(std::move(collective));
    const Impl::Context context{impl_->lane(trace::Lane::kCommunication), call.log_index, segments};
    for (size_t i = 0; i < operands.size() && i < points.size(); ++i) {
      const int64_t sequence = impl_->take(points[i], operands[i], nullptr, context);
      if (sequence >= 0) call.inputs.push_back(sequence);
    }
    impl_->recorder.collective_inputs(call.log_index, call.inputs);
  });
  return call;
}

std::vector<at::Tensor> RankTaps::complete(const CollectiveCall& call,
                                           const std::vector<TapPoint>& points,
                                           const std::vector<at::Tensor>& results, int segments) {
  std::vector<at::Tensor> tensors = results;
  if (!on()) return tensors;
  impl_->guarded("completion of a collective", [&] {
    const Impl::Context context{impl_->lane(trace::Lane::kCommunication), call.log_index, segments};
    const bool pairwise = call.inputs.size() == results.size();
    std::vector<int64_t> outputs;
    for (size_t i = 0; i < results.size() && i < points.size(); ++i) {
      const CarriedSet links = pairwise ? CarriedSet{call.inputs[i]} : call.inputs;
      tensors[i] = impl_->noisy(points[i], results[i]);
      // Operands that the plan left out: in-place results still carry what went into them.
      const int64_t sequence =
          impl_->take(points[i], tensors[i], links.empty() ? nullptr : &links, context);
      if (sequence >= 0) outputs.push_back(sequence);
    }
    if (call.waited) impl_->recorder.complete_collective(call.log_index, std::move(outputs));
  });
  return tensors;
}

void RankTaps::keep(const at::Tensor& parameter) {
  if (on()) impl_->guarded("keep", [&] { impl_->flow->keep(parameter); });
}

void RankTaps::perturb_parameter(const std::string& name, at::Tensor& parameter) {
  if (!on()) return;
  const auto& perturbation = impl_->recorder.plan().perturbation;
  if (!perturbation || !perturbation->ulp_parameters) return;
  impl_->guarded("perturbation", [&] { move_by_one_ulp(perturbation->seed, name, parameter); });
}

}  // namespace nanhunt::hooks
