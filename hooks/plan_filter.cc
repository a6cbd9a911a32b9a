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

}  // namespace

NamePatterns::NamePatterns(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) patterns_.push_back({text});
}

bool NamePatterns::any_fits(const std::string& name) const {
  if (patterns_.empty()) return false;
  const std::lock_guard lock(mutex_);
  const auto known = fits_.find(name);
  if (known != fits_.end()) return known->second;
  bool fits = false;
  for (Pattern& pattern : patterns_) {
    // All are tried, or a pattern behind a wider one would be reported as useless.
    if (fits && pattern.matched) continue;
    if (!trace::match_site(pattern.text, name, nullptr)) continue;
    pattern.matched = fits = true;
  }
  fits_.emplace(name, fits);
  return fits;
}

std::vector<std::string> NamePatterns::unmatched() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> texts;
  for (const Pattern& pattern : patterns_) {
    if (!pattern.matched) texts.push_back(pattern.text);
  }
  return texts;
}

PlanFilter::PlanFilter(const trace::CapturePlan& plan)
    : plan_(plan),
      sites_(plan.sites),
      full_sites_(plan.full_sites),
      full_phases_(plan.full_phases),
      phases_(plan.phases) {}

bool PlanFilter::wants_rank(int32_t rank) const { return allows(plan_.ranks, rank); }

bool PlanFilter::wants_step(int64_t step) const { return allows(plan_.steps, step); }

bool PlanFilter::wants(const std::string& site, trace::Phase phase) const {
  // Both are asked: what a filter met is told by itself.
  const bool phase_fits = phases_.allow(std::string(trace::name_of(phase)));
  return sites_.allow(site) && phase_fits;
}

bool PlanFilter::wants_values(const std::string& site, trace::Phase phase) const {
  const bool site_fits = full_sites_.any_fits(site);
  const bool phase_fits = full_phases_.allow(std::string(trace::name_of(phase)));
  return (site_fits && phase_fits) || plan_.level == trace::Level::kFull;
}

bool PlanFilter::must_keep_values(const std::string& site, trace::Phase phase) const {
  return phase == trace::Phase::kState && plan_.level != trace::Level::kFull &&
         wants_values(site, phase);
}

std::vector<std::string> PlanFilter::unmatched() const {
  std::vector<std::string> result;
  const auto add = [&](const std::string& kind, const NamePatterns& patterns) {
    for (const std::string& text : patterns.unmatched()) result.push_back(kind + " " + text);
  };
  add("site", sites_);
  add("full_site", full_sites_);
  // A look with values asks both sides for phases that a run of one rank need not have.
  if (full_phases_.unmatched().size() == plan_.full_phases.size()) add("full_phase", full_phases_);
  add("phase", phases_);
  return result;
}

}  // namespace nanhunt::hooks
