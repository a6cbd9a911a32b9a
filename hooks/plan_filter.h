// SPDX-License-Identifier: Apache-2.0
// What of a run the capture plan asks for. Thread safe. Remembers which patterns met something, so
// that a filter that matched nothing can be reported.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "trace/capture_plan.h"

namespace nanhunt::hooks {

class PlanFilter {
 public:
  explicit PlanFilter(const trace::CapturePlan& plan);

  bool wants_rank(int32_t rank) const;
  bool wants_step(int64_t step) const;
  bool wants(const std::string& site, trace::Phase phase) const;
  bool wants_values(const std::string& site) const;

  // Site patterns and phases of the plan that no tensor has met so far: "site decoder.**".
  std::vector<std::string> unmatched() const;

 private:
  struct Pattern {
    std::string text;
    mutable std::atomic<bool> matched{false};
  };
  static std::vector<std::unique_ptr<Pattern>> patterns(const std::vector<std::string>& texts);
  static bool any_fits(const std::vector<std::unique_ptr<Pattern>>& patterns,
                       const std::string& site);

  trace::CapturePlan plan_;
  std::vector<std::unique_ptr<Pattern>> sites_;
  std::vector<std::unique_ptr<Pattern>> full_sites_;
  std::vector<std::unique_ptr<Pattern>> phases_;
};

}  // namespace nanhunt::hooks
