// SPDX-License-Identifier: Apache-2.0
// What two runs compute differently by their configuration: attributes of ops that change the
// formula (another eps, the tanh form of GELU, another dropout rate), read from the records of both
// sides before any value is. A deviation at such a site is told as predicted. Where the case says
// that the change is intended, the reference judges neither that site nor what is made of it;
// exact rules and replay judge them as ever, and so is every other site judged.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compare/side_step.h"
#include "compare/verdict.h"

namespace nanhunt::compare {

// By key, sites in the order of the candidate's step.
std::vector<SemanticChange> predict_changes(const SideStep& candidate, const SideStep& reference);

// The key of the change that predicts a deviation at that place; "" when none does.
std::string predicted_at(const std::vector<SemanticChange>& changes, const trace::What& what);

// Takes the reference's judgement off what follows from intended changes, step after step: through
// the step's flow, and from an update into the parameters of later steps.
class IntendedChanges {
 public:
  IntendedChanges() = default;
  explicit IntendedChanges(const std::vector<SemanticChange>& changes);

  // After the reference has judged the step. Returns how many records it took out.
  int64_t take_out(SideStep& candidate);

 private:
  std::set<std::string> sites_;
  std::set<std::pair<int32_t, std::string>> updated_;  // rank, parameter
};

}  // namespace nanhunt::compare
