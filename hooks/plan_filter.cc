// SPDX-License-Identifier: Apache-2.0
#include "hooks/plan_filter.h"

#include <algorithm>

#include "trace/rules_file.h"

namespace nanhunt::hooks {
namespace {

// An empty list is no filter.
template <typename Number>
bool allows(const std::vector<Number>& list, Number number) {
  return list.empty() || std::find(list.begin(), list.end(), number) != list.end();
}

void mark(std::atomic<bool>& flag) {
  // Reading first keeps the cache line shared between the ranks.
  if (!flag.load(std::memory_order_relaxed)) flag.store(true, std::memory_order_relaxed);
}

}  // namespace

PlanFilter::PlanFilter(const trace::CapturePlan& plan)
    : plan_(plan),
      sites_(patterns(plan.sites)),
      full_sites_(patterns(plan.full_sites)),
      phases_(patterns(plan.phases)) {}

std::vector<std::unique_ptr<PlanFilter::Pattern>> PlanFilter::patterns(
    const std::vector<std::string>& texts) {
  std::vector<std::unique_ptr<Pattern>> result;
  for (const std::string& text : texts) {
    result.push_back(std::make_unique<Pattern>());
    result.back()->text = text;
  }
  return result;
}

bool PlanFilter::any_fits(const std::vector<std::unique_ptr<Pattern>>& patterns,
                          const std::string& site) {
  bool fits = false;
  for (const auto& pattern : patterns) {
    // All are tried, or a pattern behind a wider one would be reported as useless.
    if (fits && pattern->matched.load(std::memory_order_relaxed)) continue;
    if (!trace::match_site(pattern->text, site, nullptr)) continue;
    mark(pattern->matched);
    fits = true;
  }
  return fits;
}

bool PlanFilter::wants_rank(int32_t rank) const { return allows(plan_.ranks, rank); }

bool PlanFilter::wants_step(int64_t step) const { return allows(plan_.steps, step); }

bool PlanFilter::wants(const std::string& site, trace::Phase phase) const {
  bool phase_fits = phases_.empty();
  for (const auto& wanted : phases_) {
    if (wanted->text != trace::name_of(phase)) continue;
    mark(wanted->matched);
    phase_fits = true;
  }
  const bool site_fits = sites_.empty() || any_fits(sites_, site);
  return phase_fits && site_fits;
}

bool PlanFilter::wants_values(const std::string& site) const {
  return any_fits(full_sites_, site) || plan_.level == trace::Level::kFull;
}

std::vector<std::string> PlanFilter::unmatched() const {
  std::vector<std::string> result;
  const auto add = [&](const char* kind, const auto& patterns) {
    for (const auto& pattern : patterns)
      if (!pattern->matched.load(std::memory_order_relaxed))
        result.push_back(std::string(kind) + " " + pattern->text);
  };
  add("site", sites_);
  add("full_site", full_sites_);
  add("phase", phases_);
  return result;
}

}  // namespace nanhunt::hooks
