// SPDX-License-Identifier: Apache-2.0
#include "compare/order.h"

#include <algorithm>
#include <queue>
#include <tuple>

namespace nanhunt::compare {
namespace {

using trace::Collective;
using trace::Lane;
using trace::Step;

// Where an event stands in the program of its rank. Issue and completion of a collective carry the
// sequence number that the next record gets: they come before that record.
struct Stamp {
  int32_t rank;
  Lane lane;
  int64_t sequence;
  int kind;  // 0 completion, 1 issue, 2 record
  int index;

  auto key() const { return std::tie(rank, lane, sequence, kind, index); }
};

Lane lane_of(const Step& step, int32_t rank, const std::vector<int64_t>& first,
             const std::vector<int64_t>& second) {
  for (const auto* sequences : {&first, &second}) {
    for (const int64_t sequence : *sequences) {
      const int record = step.find(rank, sequence);
      if (record >= 0) return step.records[static_cast<size_t>(record)].where.lane;
    }
  }
  return Lane::kCompute;
}

}  // namespace

Order::Tensor Order::tensor_of(const trace::Record& record) {
  return {record.what.site, record.what.phase, record.what.role, record.where.microbatch};
}

Order::Order(const Step& step, const Flow& flow) : step_(step) {
  rank_tensors();
  build_events(flow);
  sort_events();
}

void Order::rank_tensors() {
  for (const auto& record : step_.records) {  // by rank, then sequence
    tensor_position_.emplace(tensor_of(record), static_cast<int>(tensor_position_.size()));
  }
}

void Order::build_events(const Flow& flow) {
  std::vector<Stamp> stamps;
  for (size_t i = 0; i < step_.records.size(); ++i) {
    const auto& where = step_.records[i].where;
    stamps.push_back({where.rank, where.lane, where.sequence, 2, static_cast<int>(i)});
  }
  for (size_t i = 0; i < step_.collectives.size(); ++i) {
    const Collective& call = step_.collectives[i];
    stamps.push_back({call.rank, lane_of(step_, call.rank, call.inputs, call.outputs),
                      call.issue_sequence, 1, static_cast<int>(i)});
    if (call.complete_sequence < 0) continue;
    stamps.push_back({call.rank, lane_of(step_, call.rank, call.outputs, call.inputs),
                      call.complete_sequence, 0, static_cast<int>(i)});
  }
  std::sort(stamps.begin(), stamps.end(),
            [](const Stamp& a, const Stamp& b) { return a.key() < b.key(); });

  events_.resize(stamps.size());
  place_on_timeline_.resize(stamps.size());
  event_of_record_.assign(step_.records.size(), -1);
  std::vector<int> issue(step_.collectives.size(), -1), completion(step_.collectives.size(), -1);
  for (size_t e = 0; e < stamps.size(); ++e) {
    const bool same =
        e > 0 && stamps[e - 1].rank == stamps[e].rank && stamps[e - 1].lane == stamps[e].lane;
    if (!same) ++timelines_;
    events_[e].timeline = timelines_ - 1;
    place_on_timeline_[e] = same ? place_on_timeline_[e - 1] + 1 : 1;
    if (same) events_[e].after.push_back(static_cast<int>(e) - 1);
    const auto index = static_cast<size_t>(stamps[e].index);
    if (stamps[e].kind == 2) {
      events_[e].record = stamps[e].index;
      event_of_record_[index] = static_cast<int>(e);
    } else {
      (stamps[e].kind == 1 ? issue : completion)[index] = static_cast<int>(e);
    }
  }
  for (size_t i = 0; i < step_.records.size(); ++i) {
    auto& after = events_[static_cast<size_t>(event_of_record_[i])].after;
    for (const int input : flow.inputs(static_cast<int>(i))) {
      after.push_back(event_of_record_[static_cast<size_t>(input)]);
    }
  }
  for (const auto& calls : flow.collectives()) {
    for (const int to : calls) {
      if (completion[static_cast<size_t>(to)] < 0) continue;
      auto& after = events_[static_cast<size_t>(completion[static_cast<size_t>(to)])].after;
      for (const int from : calls) {
        if (flow.data_flows(from, to)) after.push_back(issue[static_cast<size_t>(from)]);
      }
    }
  }
}

bool Order::tie_less(int a, int b) const {
  const auto key = [&](int index) {
    const auto& record = step_.records[static_cast<size_t>(index)];
    return std::tuple(tensor_position_.at(tensor_of(record)), record.where.rank,
                      record.where.sequence);
  };
  return key(a) < key(b);
}

void Order::sort_events() {
  const auto count = events_.size();
  std::vector<std::vector<int>> next(count);
  std::vector<int> waiting(count, 0);
  for (size_t e = 0; e < count; ++e) {
    for (const int first : events_[e].after) {
      next[static_cast<size_t>(first)].push_back(static_cast<int>(e));
      ++waiting[e];
    }
  }
  std::vector<int> tie(count, -1);  // events of collectives go first: they only free others
  std::vector<int> records(step_.records.size());
  for (size_t i = 0; i < records.size(); ++i) records[i] = static_cast<int>(i);
  std::sort(records.begin(), records.end(), [&](int a, int b) { return tie_less(a, b); });
  for (size_t i = 0; i < records.size(); ++i) {
    const auto record = static_cast<size_t>(records[i]);
    tie[static_cast<size_t>(event_of_record_[record])] = static_cast<int>(i);
  }
  using Entry = std::pair<int, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  std::vector<bool> done(count, false);
  std::vector<int> sorted;
  size_t cursor = 0;
  for (size_t e = 0; e < count; ++e) {
    if (waiting[e] == 0) ready.emplace(tie[e], static_cast<int>(e));
  }
  while (sorted.size() < count) {
    if (ready.empty()) {
      // Edges of a damaged trace may form a ring: it is cut at the first event that still waits.
      while (done[cursor]) ++cursor;
      ready.emplace(tie[cursor], static_cast<int>(cursor));
    }
    const auto event = static_cast<size_t>(ready.top().second);
    ready.pop();
    if (done[event]) continue;
    done[event] = true;
    sorted.push_back(static_cast<int>(event));
    for (const int follower : next[event]) {
      const auto f = static_cast<size_t>(follower);
      if (--waiting[f] == 0 && !done[f]) ready.emplace(tie[f], follower);
    }
  }
  run_clocks(sorted);
}

void Order::run_clocks(const std::vector<int>& sorted) {
  const auto width = static_cast<size_t>(timelines_);
  clocks_.assign(events_.size() * width, 0);
  position_.assign(step_.records.size(), 0);
  int records = 0;
  for (const int index : sorted) {
    const auto e = static_cast<size_t>(index);
    int* clock = clocks_.data() + e * width;
    for (const int first : events_[e].after) {
      const int* other = clocks_.data() + static_cast<size_t>(first) * width;
      for (size_t t = 0; t < width; ++t) clock[t] = std::max(clock[t], other[t]);
    }
    const auto own = static_cast<size_t>(events_[e].timeline);
    clock[own] = std::max(clock[own], place_on_timeline_[e]);
    if (events_[e].record >= 0) position_[static_cast<size_t>(events_[e].record)] = records++;
  }
}

bool Order::before(int a, int b) const {
  if (a == b) return false;
  const auto ea = static_cast<size_t>(event_of_record_[static_cast<size_t>(a)]);
  const auto eb = static_cast<size_t>(event_of_record_[static_cast<size_t>(b)]);
  const auto timeline = static_cast<size_t>(events_[ea].timeline);
  const auto width = static_cast<size_t>(timelines_);
  return clocks_[eb * width + timeline] >= place_on_timeline_[ea];
}

}  // namespace nanhunt::compare
