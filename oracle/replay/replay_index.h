// SPDX-License-Identifier: Apache-2.0
// The records of a step by what replays look for.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trace/trace_reader.h"

namespace nanhunt::oracle {

// Of a forward pass or the loss.
bool is_forward(const trace::Record& record);

// Refers to the step.
class ReplayIndex {
 public:
  explicit ReplayIndex(const trace::Step& step);

  const trace::Step& step() const { return *step_; }
  // The record at `site` that says how the values that `like` (same rank, same microbatch if there
  // is one) is about were made: forward or loss, of that role if there is one, else "output";
  // nullptr when the site has none.
  const trace::Record* maker(const trace::Record& like, const std::string& site,
                             const std::string& role) const;
  // Whether the op at `consumer` read what `producer` gave as it was recorded, in the microbatch of
  // `like`; false where something that no record shows may lie between.
  bool consumes(const trace::Record& like, const std::string& consumer,
                const std::string& producer) const;
  // Of a record of that step.
  bool is_gradient(const trace::Record& record) const;

 private:
  const trace::Step* step_;
  std::map<std::pair<int32_t, std::string>, std::vector<const trace::Record*>> makers_;
  std::vector<bool> gradient_;  // by record
};

}  // namespace nanhunt::oracle
