// SPDX-License-Identifier: Apache-2.0
// Happens-before of the records of one step (Lamport 1978; vector clocks after Fidge and Mattern
// 1988): program order per rank and lane, data along links, and issue(r) -> complete(s) of a
// collective for each rank r whose data rank s gets. Wall clocks never enter. Memory: events x
// timelines (rank, lane) x 4 bytes.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "compare/flow.h"

namespace nanhunt::compare {

class Order {
 public:
  Order(const trace::Step& step, const Flow& flow);

  // Record a is seen before record b in every run with these messages.
  bool before(int a, int b) const;
  // A linear extension of happens-before, the same however the trace was written.
  int position(int record) const { return position_[static_cast<size_t>(record)]; }
  // Records a and b that no order relates are told apart by the place of their tensor in the
  // program order of the lowest rank that has it, then rank, then sequence.
  bool tie_less(int a, int b) const;

 private:
  // Site, phase, role, microbatch.
  using Tensor = std::tuple<std::string, trace::Phase, std::string, int32_t>;

  struct Event {
    int record = -1;  // -1: issue or completion of a collective
    int timeline = 0;
    std::vector<int> after;  // events that must come first
  };

  static Tensor tensor_of(const trace::Record& record);
  void rank_tensors();
  void build_events(const Flow& flow);
  void sort_events();
  void run_clocks(const std::vector<int>& sorted);

  const trace::Step& step_;
  std::map<Tensor, int> tensor_position_;
  std::vector<Event> events_;
  std::vector<int> event_of_record_;
  int timelines_ = 0;
  std::vector<int> place_on_timeline_;  // by event
  std::vector<int> clocks_;             // events x timelines
  std::vector<int> position_;           // by record
};

}  // namespace nanhunt::compare
