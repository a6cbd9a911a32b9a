// SPDX-License-Identifier: Apache-2.0
#include "ablate/trial.h"

#include <algorithm>

#include "ablate/effective.h"
#include "ablate/own_failure.h"
#include "oracle/rule.h"
#include "trace/error.h"

namespace nanhunt::ablate {
namespace {

TrialVerdict unresolved(const std::string& reason) {
  return {TrialResult::kUnresolved, reason};
}

// Whether switching `other` off takes `toggle` with it.
bool coupled(const Toggle& other, const Toggle& toggle) {
  if (std::find(other.moves.begin(), other.moves.end(), toggle.name) != other.moves.end()) {
    return true;
  }
  for (const Need& need : toggle.needs) {
    for (const auto& [name, values] : need.alternatives) {
      if (name == other.name) return true;
    }
  }
  return false;
}

bool differs(const Case& the_case, const std::string& toggle) {
  return the_case.failing.at(toggle) != the_case.reference.at(toggle);
}

// One toggle alone is switched on; with two of them, that is the off-trial of the other as well.
bool is_on_trial_alone(const Case& the_case, const Configuration& configuration) {
  const auto candidates =
      std::ranges::count_if(the_case.subject.toggles,
                            [&](const Toggle& toggle) { return differs(the_case, toggle.name); });
  return configuration.size() == 1 && candidates != 2;
}

std::string no_effect(const std::string& toggle, const Settings& settings) {
  return toggle + "=" + settings.at(toggle) + " has no effect here";
}

bool carries_out(const trace::TraceReader& trial, const trace::What& what) {
  for (const int64_t number : trial.steps()) {
    const trace::Step step = trial.read_step(number);
    for (const trace::Record& record : step.records) {
      if (record.what.site == what.site && record.what.phase == what.phase &&
          record.what.role == what.role) {
        return true;
      }
    }
  }
  return false;
}

std::string other_failure(const compare::Verdict& verdict) {
  if (verdict.origins.empty())
    return std::string(compare::name_of(verdict.kind)) + " " + verdict.reason;
  return "another failure: " + trace::describe(verdict.origins.front().finding.what);
}

// Found by a rule that needs no reference: such a rule decides a trial without a calibration, too.
bool broke_its_own_rule(const compare::Verdict& failure) {
  if (failure.origins.empty()) return false;
  const std::string& rule = failure.origins.front().finding.rule;
  return std::ranges::any_of(oracle::rules(), [&](const auto& own) { return own.name == rule; });
}

// The trial against the failure: fail, unresolved, or pass as far as its values go.
TrialVerdict judge_values(const TrialContext& context, const Run& run) {
  const compare::Verdict scanned = context.bench.scan(run);
  if (compare::same_failure(scanned, context.failure)) return {TrialResult::kFail, ""};
  const bool clean = scanned.kind == compare::VerdictKind::kClean;
  if (clean && broke_its_own_rule(context.failure)) return {TrialResult::kPass, ""};
  const compare::Verdict verdict = context.bench.judge(run, context.reference, context.scope);
  if (compare::same_failure(verdict, context.failure)) return {TrialResult::kFail, ""};
  if (verdict.kind != compare::VerdictKind::kClean) return unresolved(other_failure(verdict));
  return {TrialResult::kPass, ""};
}

TrialVerdict judge_trial(const TrialContext& context, const Run& run) {
  const TrialVerdict values = judge_values(context, run);
  if (values.result != TrialResult::kPass) return values;
  if (!run.ended_well()) return unresolved(run.complaint());
  const std::string doubt =
      why_no_acquittal(context.failure, context.failing_ranks, trace::TraceReader(run.trace));
  return doubt.empty() ? TrialVerdict{TrialResult::kPass, ""} : unresolved(doubt);
}

// By the subject's own word; should it have left a trace, its settings are held against that.
TrialVerdict judge_itself(const TrialContext& context, const RunRequest& request, const Run& run) {
  const auto differences = check_effective(context.bench.the_case().subject, request.settings, run);
  if (!differences.empty()) return unresolved("no effect: " + describe(differences.front()));
  return judge_own(own_outcome(context.bench.runner(), request, run), context.own_failure);
}

}  // namespace

Settings settings_of(const Case& the_case, const Configuration& configuration) {
  Settings settings = the_case.reference;
  for (const std::string& toggle : configuration) settings[toggle] = the_case.failing.at(toggle);
  return settings;
}

std::string without_effect(const Case& the_case, const Configuration& configuration,
                           const Settings& settings) {
  const Settings effective = effective_settings(the_case.subject, settings);
  for (const std::string& name : configuration) {
    if (effective.at(name) == settings.at(name)) continue;
    bool moved = false;
    if (is_on_trial_alone(the_case, configuration)) return no_effect(name, settings);
    for (const Toggle& other : the_case.subject.toggles) {
      const bool switched_off =
          !configuration.contains(other.name) && differs(the_case, other.name);
      moved = moved || (switched_off && coupled(other, *the_case.subject.find_toggle(name)));
    }
    if (!moved) return no_effect(name, settings);
  }
  return "";
}

std::string name_of(const Configuration& configuration, const std::vector<std::string>& toggles) {
  std::string on = "on", off = "off";
  for (const std::string& toggle : toggles) {
    (configuration.contains(toggle) ? on : off) += " " + toggle;
  }
  return configuration.size() * 2 > toggles.size() ? off : on;
}

std::string why_no_acquittal(const compare::Verdict& failure, int32_t failing_ranks,
                             const trace::TraceReader& trial) {
  if (failure.origins.empty()) return "";
  const oracle::Finding& leading = failure.origins.front().finding;
  const auto accused = static_cast<int32_t>(leading.ranks.size());
  if (!leading.which_known() || accused == 0 || accused >= failing_ranks) return "";
  std::string missing;
  for (const int32_t rank : leading.ranks) {
    if (rank < trial.world_size()) return "";
    missing += " " + std::to_string(rank);
  }
  if (!carries_out(trial, leading.what)) return "";
  return "rank" + missing + " is not there, so it cannot be acquitted";
}

TrialVerdict run_trial(const TrialContext& context, const Configuration& configuration,
                       const std::string& purpose) {
  const Case& the_case = context.bench.the_case();
  const Settings settings = settings_of(the_case, configuration);
  const std::string idle = without_effect(the_case, configuration, settings);
  if (!idle.empty()) return unresolved(idle);
  const RunRequest request = context.bench.request(purpose, settings, context.scope);
  const Run run = context.bench.runner().run(request);
  const bool itself = tells_failure_itself(the_case.subject);
  const bool timed_out = run.outcome.end == ChildEnd::kTimedOut;
  if (!itself && (timed_out || run.outcome.end == ChildEnd::kNotStarted)) {
    return unresolved(run.complaint());
  }
  try {
    if (itself) return judge_itself(context, request, run);
    const auto differences =
        check_effective(the_case.subject, settings, trace::TraceReader(run.trace));
    if (!differences.empty()) return unresolved("no effect: " + describe(differences.front()));
    return judge_trial(context, run);
  } catch (const trace::Error& error) {
    if (error.kind() == trace::ErrorKind::kUsage) throw;
    return unresolved(run.ended_well() ? error.what() : run.complaint());
  }
}

}  // namespace nanhunt::ablate
