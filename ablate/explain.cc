// SPDX-License-Identifier: Apache-2.0
#include "ablate/explain.h"

#include <chrono>
#include <mutex>

#include "ablate/parallel.h"

namespace nanhunt::ablate {
namespace {

std::string listed(const std::vector<std::string>& names, const std::string& last_joint) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? last_joint : ", ";
    text += names[i];
  }
  return text;
}

// Single ranks that a rule of the trace's own tells apart from their peers.
bool accuses_single_ranks(const compare::Verdict& failure, int32_t failing_ranks) {
  if (failure.origins.empty()) return false;
  const oracle::Finding& leading = failure.origins.front().finding;
  const bool on_one_trace = leading.decider == oracle::Decider::kRecomputation ||
                            leading.decider == oracle::Decider::kMajority;
  return on_one_trace && !leading.ranks.empty() &&
         static_cast<int32_t>(leading.ranks.size()) < failing_ranks;
}

std::string data_or_hardware(const compare::Verdict& failure) {
  const compare::Origin& leading = failure.origins.front();
  std::vector<std::string> ranks;
  for (const int32_t rank : leading.finding.ranks) ranks.push_back(std::to_string(rank));
  return "no toggle explains it: data or hardware of rank " + listed(ranks, " and ") +
         (leading.hosts.empty() ? "" : " on host " + listed(leading.hosts, " and "));
}

std::string word_of(const TrialVerdict& verdict) {
  switch (verdict.result) {
    case TrialResult::kPass:
      return "pass";
    case TrialResult::kFail:
      return "fail";
    case TrialResult::kUnresolved:
      return "unresolved: " + verdict.reason;
  }
  return "";
}

}  // namespace

std::string cause_statement(const SearchResult& search, const compare::Verdict& failure,
                            int32_t failing_ranks) {
  if (search.necessary.empty()) {
    return accuses_single_ranks(failure, failing_ranks)
               ? data_or_hardware(failure)
               : "unresolved: no single switch-off helps, and sets of switches are not searched";
  }
  const bool one = search.necessary.size() == 1;
  std::string text = listed(search.necessary, " and ") + (one ? " explains it: " : " explain it: ");
  text += one ? "switched off, the failure is gone"
              : "with any one of them switched off the failure is gone";
  if (!search.confirmed) return text + "; not confirmed: " + search.why_not;
  return text + "; switched on alone, the reference fails the same way";
}

Explanation explain(const TrialContext& context, int jobs) {
  const Case& the_case = context.bench.the_case();
  const std::vector<std::string> toggles =
      differing_toggles(the_case.subject, the_case.failing, the_case.reference);
  Explanation explanation;
  std::mutex mutex;
  const TryAll try_all = [&](const std::vector<Configuration>& configurations) {
    std::vector<TrialVerdict> verdicts(configurations.size());
    for_each_parallel(configurations.size(), jobs, [&](size_t i) {
      const auto started = std::chrono::steady_clock::now();
      const std::string name = name_of(configurations[i], toggles);
      verdicts[i] = run_trial(context, configurations[i], name);
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
      const std::lock_guard lock(mutex);
      explanation.trials.push_back({name, verdicts[i], seconds.count()});
      context.bench.runner().say({"trial " + name + ": " + word_of(verdicts[i]),
                                  static_cast<int>(explanation.trials.size()),
                                  most_trials(toggles.size())});
    });
    return verdicts;
  };
  const SearchResult search = search_cause(toggles, try_all);
  compare::Cause& cause = explanation.cause;
  cause.statement = cause_statement(search, context.failure, context.failing_ranks);
  cause.toggles = search.necessary;
  cause.confirmed = search.confirmed;
  cause.sufficient = search.sufficient;
  for (const auto& [toggle, reason] : search.undecided) {
    cause.undecided.push_back(toggle + ": " + reason);
  }
  return explanation;
}

}  // namespace nanhunt::ablate
