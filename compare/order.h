// SPDX-License-Identifier: Apache-2.0
// Happens-before of the records of one step (Lamport 1978; vector clocks after Fidge and Mattern
// 1988): program order per rank and lane, data along links, and issue(r) -> complete(s) of a
// collective for each rank r whose data rank s gets. Wall clocks never enter. Memory: events x
// timelines (rank, lane) x 4 bytes.
#pragma once

#include <map>
#include <string>
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
  // Order of first appearance of the site in the program order of the lowest rank that has it.
  int site_position(const std::string& site) const;
  // Records a and b that no order relates are told apart by site, phase, rank, sequence.
  bool tie_less(int a, int b) const;

 private:
  struct Event {
    int record = -1;  // -1: issue or completion of a collective
    int timeline = 0;
    std::vector<int> after;  // events that must come first
  };

  void rank_sites();
  void build_events(const Flow& flow);
  void sort_events();
  void run_clocks(const std::vector<int>& sorted);

  const trace::Step& step_;
  std::map<std::string, int> site_position_;
  std::vector<Event> events_;
  std::vector<int> event_of_record_;
  int timelines_ = 0;
  std::vector<int> place_on_timeline_;  // by event
  std::vector<int> clocks_;             // events x timelines
  std::vector<int> position_;           // by record
};

}  // namespace nanhunt::compare
