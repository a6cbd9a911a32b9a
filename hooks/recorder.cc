// SPDX-License-Identifier: Apache-2.0
#include "hooks/recorder.h"

#include <unistd.h>

#include <array>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

#include "hooks/rank_recorder.h"

namespace nanhunt::hooks {
namespace {

// Nothing a hook does may reach the training process: what is thrown switches the rank off.
template <typename Rank, typename Result, typename Function>
Result guarded(Rank& rank, Result otherwise, Function function) noexcept {
  try {
    return function();
  } catch (const std::exception& error) {
    try {
      rank.fail(error.what());
    } catch (...) {
    }
  } catch (...) {
    try {
      rank.fail("exception of unknown type");
    } catch (...) {
    }
  }
  return otherwise;
}

template <typename Rank, typename Function>
void guarded(Rank& rank, Function function) noexcept {
  guarded(rank, 0, [&] {
    if (rank.on()) function();
    return 0;
  });
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

RankRecorder::RankRecorder(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

bool RankRecorder::on() const { return impl_->on(); }

bool RankRecorder::wants(const std::string& site, trace::Phase phase) const {
  return guarded(*impl_, false, [&] { return impl_->wants(site, phase); });
}

void RankRecorder::begin_step(int64_t step) {
  guarded(*impl_, [&] { impl_->begin_step(step); });
}

void RankRecorder::end_step() {
  guarded(*impl_, [&] { impl_->end_step(); });
}

int64_t RankRecorder::record(const Observation& observation) {
  return guarded(*impl_, int64_t{-1}, [&] { return impl_->record(observation); });
}

int64_t RankRecorder::issue_collective(trace::Collective collective) {
  return guarded(*impl_, int64_t{-1}, [&] { return impl_->issue(std::move(collective)); });
}

void RankRecorder::complete_collective(int64_t log_index, std::vector<int64_t> outputs) {
  guarded(*impl_, [&] { impl_->complete(log_index, std::move(outputs)); });
}

void RankRecorder::collective_inputs(int64_t log_index, std::vector<int64_t> inputs) {
  guarded(*impl_, [&] {
    if (log_index >= 0) impl_->send(CollectiveInputs{log_index, std::move(inputs)});
  });
}

void RankRecorder::fact(const std::string& key, const std::string& value) {
  guarded(*impl_, [&] { impl_->send(FactAdded{key, value}); });
}

void RankRecorder::seal(trace::CutReason reason, const std::string& detail, int milliseconds) {
  guarded(*impl_, [&] { impl_->seal(reason, detail, milliseconds); });
}

void RankRecorder::fail(const std::string& what) {
  guarded(*impl_, [&] { impl_->fail(what); });
}

const trace::CapturePlan& RankRecorder::plan() const { return impl_->plan(); }

const trace::RunFacts& RankRecorder::facts() const { return impl_->facts(); }

struct Recorder::Impl {
  std::unique_ptr<TraceWriter> writer;  // null: inert
  std::mutex mutex;                     // guards ranks
  std::deque<RankRecorder> ranks;       // a deque never moves its elements
};

Recorder::Recorder(std::optional<trace::CapturePlan> plan) : impl_(std::make_unique<Impl>()) {
  if (plan) impl_->writer = std::make_unique<TraceWriter>(*std::move(plan));
}

Recorder::~Recorder() { close(); }

RankRecorder& Recorder::add_rank(trace::RunFacts facts) {
  if (facts.host.empty()) facts.host = host_name();
  std::lock_guard lock(impl_->mutex);
  TraceWriter* writer = impl_->writer.get();
  impl_->ranks.push_back(RankRecorder(std::make_shared<RankRecorder::Impl>(
      writer ? writer->plan() : trace::CapturePlan{}, std::move(facts), writer,
      static_cast<int>(impl_->ranks.size()))));
  return impl_->ranks.back();
}

void Recorder::seal_on_death() {
  if (impl_->writer && impl_->writer->works()) impl_->writer->seal_on_death();
}

void Recorder::close() {
  if (impl_->writer) impl_->writer->stop();
}

}  // namespace nanhunt::hooks
