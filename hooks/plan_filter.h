// SPDX-License-Identifier: Apache-2.0
// What of a run the capture plan asks for. Thread safe. Remembers which patterns met something, so
// that a filter that matched nothing can be reported.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/capture_plan.h"

namespace nanhunt::hooks {

// Site patterns of a plan, or its phases, whose names are patterns of themselves. A name is held
// against them once: a plan may have hundreds, and each record asks.
class NamePatterns {
 public:
  explicit NamePatterns(const std::vector<std::string>& texts);

  bool any_fits(const std::string& name) const;
  // True without any pattern: that is no filter.
  bool allow(const std::string& name) const { return patterns_.empty() || any_fits(name); }
  // Of the patterns, those that no name has met.
  std::vector<std::string> unmatched() const;

 private:
  struct Pattern {
    std::string text;
    bool matched = false;
  };
  mutable std::mutex mutex_;
  mutable std::vector<Pattern> patterns_;
  mutable std::unordered_map<std::string, bool> fits_;
};

class PlanFilter {
 public:
  explicit PlanFilter(const trace::CapturePlan& plan);

  bool wants_rank(int32_t rank) const;
  bool wants_step(int64_t step) const;
  bool wants(const std::string& site, trace::Phase phase) const;
  bool wants_values(const std::string& site, trace::Phase phase) const;
  // State that full_sites asks for: its values are waited for as long as it takes. What a level
  // brings may be left out.
  bool must_keep_values(const std::string& site, trace::Phase phase) const;

  // Site patterns and phases of the plan that no tensor has met so far: "site decoder.**".
  std::vector<std::string> unmatched() const;

 private:
  trace::CapturePlan plan_;
  NamePatterns sites_, full_sites_, full_phases_, phases_;
};

}  // namespace nanhunt::hooks
