// SPDX-License-Identifier: Apache-2.0
// Which findings of one side's step originated where they are, and which were passed on. Passed-on
// ones are counted under the origin that they come from. State carried over steps passes on:
// parameters at the start of a step lead back to the update that wrote them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "compare/origin_walk.h"
#include "compare/verdict.h"

namespace nanhunt::compare {

// An origin under construction, with what the signatures need.
struct Draft {
  Origin origin;
  oracle::Side side = oracle::Side::kCandidate;
  int finding = -1;               // index of the leading one in its step's findings
  int record = -1;                // earliest record of the leading finding, in its step's trace
  std::vector<int> records;       // all of the leading finding
  std::vector<int> microbatches;  // further ones with the same failure
  std::vector<int64_t> steps;     // and later steps
  int folded_under = -1;          // another draft: this one is no origin after all
  int downstream_of = -1;         // another draft of its step, as in downstream.h
};

// The origins of one run so far, in the order in which they were found.
class Origins {
 public:
  // Finds the origins of the step's findings and adds them; returns the indices of the new ones in
  // happens-before order. The steps of one side must come in order.
  std::vector<int> add_step(const SideStep& side);

  // By record of the step that was added last: the origin that it is, or comes from; -1 for none.
  const std::vector<int>& taint() const { return taint_; }

  // The place of the origin that this one lies downstream of; "" for none.
  std::string downstream_of(const Draft& draft) const;

  // The first origin of a step before this one, or -1.
  int failed_before(int64_t step) const;

  // An origin of the step that was added last turned out to be passed on from another one of it:
  // what came from it comes from there.
  void pass_on(int draft, int source);

  std::vector<Draft>& drafts() { return drafts_; }
  const std::vector<Draft>& drafts() const { return drafts_; }

 private:
  struct Unit {  // a finding, or one of its records when each is wrong by itself
    int finding = 0;
    std::vector<int> records;
    int position = 0;
  };
  static constexpr int kUnknown = -2, kOpen = -3;

  std::vector<Unit> units_of(const SideStep& side) const;
  int resolve(const SideStep& side, OriginWalk& walk, int unit);
  int originate(const SideStep& side, OriginWalk& walk, const Unit& unit, const Boundary& boundary);
  int passed_on_from(const SideStep& side, OriginWalk& walk, const Unit& unit,
                     const Boundary& boundary);
  int wrong_forward(const SideStep& side, OriginWalk& walk, const oracle::Finding& finding);
  int carried_origin(const SideStep& side, const std::vector<int>& records) const;
  int origin_of(size_t draft) const;
  void remember_updates(const SideStep& side);
  void note_downstream(const SideStep& side, const std::vector<int>& drafts);

  std::vector<Draft> drafts_;
  std::map<std::tuple<int, int64_t, std::string, trace::Phase, std::string>, int> by_place_;
  std::vector<Unit> units_;
  std::vector<int> labels_;  // by unit: index of the origin
  std::vector<std::vector<int>> units_of_record_;
  std::vector<int> taint_;
  std::map<std::pair<int32_t, std::string>, int> updates_;  // (rank, site) -> origin of its update
};

// The one that leads: proven before suspicious, then by what told: itself, recomputation,
// reference, majority, nothing.
bool leads(const oracle::Finding& a, const oracle::Finding& b);

}  // namespace nanhunt::compare
