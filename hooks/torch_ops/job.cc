// SPDX-License-Identifier: Apache-2.0
#include "hooks/torch_ops/job.h"

#include <mutex>
#include <utility>

#include "hooks/flow_map.h"
#include "hooks/op_listener.h"
#include "hooks/tensor_view.h"
#include "hooks/torch_ops/collective_names.h"
#include "hooks/torch_ops/point_text.h"
#include "hooks/watch_recorder.h"

namespace nanhunt::hooks {
namespace {

constexpr int kDeathWaitMs = 2000;

WatchedRank observed(WatchedRank watched) {
  if (watched.rank->on()) observe_ops();
  return watched;
}

WatchedRank rank_said(const std::string& facts) {
  try {
    return watched_rank(parse_run_facts(facts));
  } catch (const std::exception& error) {
    WatchedRank rank = watched_rank(trace::RunFacts{});
    rank.rank->fail(std::string("facts of the job: ") + error.what());
    return rank;
  }
}

}  // namespace

struct Job::Impl : OpListener {
  explicit Impl(const std::string& facts)
      : watched(observed(rank_said(facts))),
        taps(*watched.rank),
        collectives(taps,
                    [this](const C10dCall& call, trace::Phase phase, const at::Tensor& tensor,
                           size_t index) {
                      const std::lock_guard lock(mutex);
                      return names.point(call, phase, tensor, index, taps.carried(tensor));
                    }),
        names(watched.rank->facts().world_size) {}

  bool on() const override { return watched.rank->on(); }
  void before_op(const at::RecordFunction& function) override {
    if (collectives.idle() || !on()) return;
    each_use(function, [&](const at::Tensor& tensor, bool overwritten) {
      collectives.before_use(tensor, overwritten);
    });
  }
  std::optional<CollectiveWatch::Issued> before_collective(
      const at::RecordFunction& function) override {
    if (!in_step) return std::nullopt;
    std::optional<C10dCall> call;
    {
      const std::lock_guard lock(mutex);
      call = read_c10d_call(function, watched.rank->facts().world_size, groups);
    }
    // Objects and flags that a program sends around are no tensors of the model.
    if (!call || !moves_floats(*call)) return std::nullopt;
    if (call->collective.group.empty())
      watched.rank->fact("collectives.group." + call->group_name, "global ranks unknown");
    auto issued = collectives.issue(*call);
    issued.wait_expected = by_program;
    const std::lock_guard lock(mutex);
    names.next();
    return issued;
  }
  void after_collective(CollectiveWatch::Issued issued) override {
    collectives.pending(std::move(issued));
  }
  void after_wait(const at::Tensor& result) override { collectives.waited(result); }
  void failed(const std::string& what) override { watched.rank->fail(what); }

  WatchedRank watched;
  RankTaps taps;
  CollectiveWatch collectives;
  std::vector<TapPoint> points;
  std::mutex mutex;  // a communication thread names its groups and collectives, too
  GroupRanks groups;
  CollectiveNames names;
  bool in_step = false;
  bool by_program = false;
};

namespace {

// Nothing of ours may end the job.
template <class Work>
void guarded(Job::Impl& impl, const char* what, Work work) {
  if (!impl.on()) return;
  try {
    work();
  } catch (const std::exception& error) {
    impl.watched.rank->fail(std::string(what) + ": " + error.what());
  } catch (...) {
    impl.watched.rank->fail(std::string(what) + ": unknown exception");
  }
}

}  // namespace

Job::Job(const std::string& facts) : impl_(std::make_shared<Impl>(facts)) {
  if (on()) listen_on_this_thread(impl_);
}

Job::~Job() {
  stop_listening_on_this_thread();
}

bool Job::on() const {
  return impl_->on();
}

std::string Job::plan() const {
  return on() ? trace::to_json(impl_->watched.rank->plan()) : "";
}

bool Job::wants(const std::string& site, const std::string& phase) const {
  const auto known = trace::phase_from_name(phase);
  return on() && known && impl_->watched.rank->wants(site, *known);
}

void Job::begin_step(int64_t step) {
  guarded(*impl_, "begin of step", [&] {
    impl_->in_step = true;
    impl_->taps.begin_step(step);
  });
}

void Job::end_step() {
  guarded(*impl_, "end of step", [&] {
    impl_->collectives.finish();
    impl_->taps.end_step();
    impl_->in_step = false;
    const std::lock_guard lock(impl_->mutex);
    impl_->names.end_step();
  });
}

int64_t Job::point(const std::string& json) {
  int64_t number = -1;
  guarded(*impl_, "point", [&] {
    impl_->points.push_back(parse_point(json));
    number = static_cast<int64_t>(impl_->points.size()) - 1;
  });
  return number;
}

namespace {

// Products and sums over FP16 and BF16 accumulate in FP32; optimizers compute in the type that they
// hold.
trace::DType compute_type(trace::Phase phase, trace::DType storage) {
  using enum trace::Phase;
  const bool sums = phase == kForward || phase == kLoss || phase == kBackward;
  return sums && trace::size_of(storage) < 4 ? trace::DType::kFloat32 : storage;
}

}  // namespace

at::Tensor Job::tap(int64_t point, const at::Tensor& tensor, int64_t microbatch,
                    const std::string& attributes) {
  at::Tensor result = tensor;
  guarded(*impl_, "tap", [&] {
    TapPoint told = impl_->points.at(static_cast<size_t>(point));
    told.microbatch = static_cast<int32_t>(microbatch);
    if (!attributes.empty()) told.attributes = attributes;
    if (const auto type = dtype_of(tensor.scalar_type()))
      told.compute = compute_type(told.phase, *type);
    impl_->collectives.before_use(tensor, false);
    result = impl_->taps.tap(told, tensor);
    const CarriedSet carried = impl_->taps.carried(result);
    const std::lock_guard lock(impl_->mutex);
    if (!carried.empty()) impl_->names.recorded(carried.back(), told);
  });
  return result;
}

void Job::tap_each(const std::vector<int64_t>& points, const std::vector<at::Tensor>& tensors,
                   const std::vector<std::string>& attributes) {
  for (size_t i = 0; i < points.size() && i < tensors.size() && i < attributes.size(); ++i) {
    tap(points[i], tensors[i], -1, attributes[i]);
  }
}

std::vector<std::string> Job::sources(const at::Tensor& tensor) const {
  std::vector<std::string> sites;
  guarded(*impl_, "sources", [&] {
    const CarriedSet carried = impl_->taps.carried(tensor);
    const std::lock_guard lock(impl_->mutex);
    for (auto sequence = carried.rbegin(); sequence != carried.rend(); ++sequence)
      sites.push_back(impl_->names.site_of(*sequence));
  });
  return sites;
}

void Job::scalar(int64_t point, double value) {
  guarded(*impl_, "scalar",
          [&] { impl_->taps.scalar(impl_->points.at(static_cast<size_t>(point)), value); });
}

void Job::fact(const std::string& key, const std::string& value) {
  guarded(*impl_, "fact", [&] { impl_->watched.rank->fact(key, value); });
}

void Job::keep(const at::Tensor& parameter) {
  guarded(*impl_, "keep", [&] { impl_->taps.keep(parameter); });
}

void Job::perturb_parameter(const std::string& name, at::Tensor parameter) {
  guarded(*impl_, "perturbation", [&] { impl_->taps.perturb_parameter(name, parameter); });
}

void Job::group(const std::string& name, const std::vector<int64_t>& ranks,
                const std::string& axis) {
  guarded(*impl_, "group", [&] {
    const std::lock_guard lock(impl_->mutex);
    impl_->groups[name] = {ranks.begin(), ranks.end()};
    impl_->names.group(name, axis);
  });
}

void Job::enter(const std::string& site) {
  guarded(*impl_, "enter", [&] {
    const std::lock_guard lock(impl_->mutex);
    impl_->names.enter(site);
  });
}

void Job::leave() {
  guarded(*impl_, "leave", [&] {
    const std::lock_guard lock(impl_->mutex);
    impl_->names.leave();
  });
}

void Job::issuing(bool by_program) {
  impl_->by_program = by_program;
}

void Job::waited(const void* work) {
  guarded(*impl_, "wait", [&] { impl_->collectives.waited(work); });
}

void Job::name_gradient(const std::string& site, const at::Tensor& gradient) {
  guarded(*impl_, "gradient's name", [&] {
    const std::lock_guard lock(impl_->mutex);
    impl_->names.gradient(site, gradient);
  });
}

void Job::fail(const std::string& what) {
  if (on()) impl_->watched.rank->fail(what);
}

void Job::died(const std::string& what) {
  guarded(*impl_, "death", [&] {
    impl_->watched.rank->seal(trace::CutReason::kException, what, kDeathWaitMs);
  });
}

void Job::close() {
  guarded(*impl_, "end", [&] {
    if (impl_->in_step) impl_->collectives.finish();
    impl_->watched.recorder->close();
  });
}

}  // namespace nanhunt::hooks
