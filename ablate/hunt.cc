// SPDX-License-Identifier: Apache-2.0
#include "ablate/hunt.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "ablate/effective.h"
#include "ablate/own_failure.h"
#include "ablate/parallel.h"
#include "ablate/trials_json.h"
#include "trace/error.h"

namespace nanhunt::ablate {
namespace {

constexpr int kMostLooks = 3;  // with values, after the one with statistics

struct Pair {
  Run candidate, reference;
};

// A run without a readable trace ends the hunt; one that merely ended badly is judged as far as it
// got.
void check_run(const Runner& runner, const std::string& side, const Run& run) {
  const bool not_started = run.outcome.end == ChildEnd::kNotStarted;
  if (tells_failure_itself(runner.subject())) {
    if (not_started) throw trace::Error(trace::ErrorKind::kUsage, side + ": " + run.complaint());
    return;
  }
  const std::string failure = run.capture_failure(run.trace);
  if (run.ended_well() && failure.empty()) return;
  const std::string what = failure.empty() ? run.complaint() : failure;
  if (!run.left_trace()) {
    const bool refused =
        not_started || (run.outcome.end == ChildEnd::kExited && run.outcome.status == 2);
    throw trace::Error(!failure.empty() ? trace::ErrorKind::kInternal
                       : refused        ? trace::ErrorKind::kUsage
                                        : trace::ErrorKind::kUnreadable,
                       side + " left no trace: " + what);
  }
  runner.say({side + ": " + what + "; what it sealed is judged"});
}

Pair run_pair(Bench& bench, const Scope& scope, int jobs) {
  const Case& the_case = bench.the_case();
  Pair pair;
  for_each_parallel(2, jobs, [&](size_t i) {
    const bool failing = i == 0;
    (failing ? pair.candidate : pair.reference) =
        bench.runner().run(bench.request(failing ? "failing side" : "reference",
                                         failing ? the_case.failing : the_case.reference, scope));
  });
  check_run(bench.runner(), "failing side", pair.candidate);
  check_run(bench.runner(), "reference", pair.reference);
  return pair;
}

// A subject that ignores a toggle makes every statement about that toggle void.
std::string ignored_toggles(const Case& the_case, const Pair& pair) {
  for (const bool failing : {true, false}) {
    const Run& run = failing ? pair.candidate : pair.reference;
    const auto differences =
        check_effective(the_case.subject, failing ? the_case.failing : the_case.reference, run);
    if (differences.empty()) continue;
    return std::string(failing ? "failing side: " : "reference: ") + describe(differences.front());
  }
  return "";
}

compare::Cause no_ablation(const std::string& statement) {
  compare::Cause cause;
  cause.statement = statement;
  return cause;
}

// Records of that tensor with the digests of their bits, in the order of ranks.
std::vector<std::tuple<int32_t, int64_t, uint64_t>> bits_of(const Run& run,
                                                            const trace::What& what) {
  const trace::TraceReader trace(run.trace);
  const auto steps = trace.steps();
  if (std::ranges::find(steps, what.step) == steps.end()) return {};
  const trace::Step step = trace.read_step(what.step);
  std::vector<std::tuple<int32_t, int64_t, uint64_t>> bits;
  const auto found = step.by_what().find(what);
  if (found == step.by_what().end()) return {};
  for (const int index : found->second) {
    const trace::Record& record = step.records[static_cast<size_t>(index)];
    bits.emplace_back(record.where.rank, record.where.sequence, record.raw_digest);
  }
  return bits;
}

// Whether another pair of runs has what the first accused to the bit. If it finds nothing then,
// values have refuted what statistics took for a failure; if not, there is nothing left to look at.
bool same_bits(const Pair& first, const Pair& again, const compare::Verdict& verdict) {
  return std::ranges::all_of(verdict.origins, [&](const compare::Origin& origin) {
    const trace::What& what = origin.finding.what;
    return bits_of(first.candidate, what) == bits_of(again.candidate, what) &&
           bits_of(first.reference, what) == bits_of(again.reference, what);
  });
}

// The answer stays that of the runs that failed. Trials would all pass and accuse any toggle.
void say_not_repeated(Bench& bench, compare::Verdict& verdict) {
  const std::string what =
      "the failure did not repeat: the same runs again, with values around it, have no finding";
  bench.runner().say({what});
  verdict.events.push_back(what + "; this verdict is of the runs that failed");
  verdict.cause = no_ablation(
      "the failure did not repeat when both sides ran again: no toggle was tried; look for what "
      "differs from run to run (a race, data order, hardware)");
}

// A look with values may move the first bad upstream, to a site without them: statistics had left
// it undecided. So: again until the first bad has values.
void look_again_in_full(Bench& bench, const HuntOptions& options, Hunt& result) {
  if (bench.the_case().level != CaseLevel::kAuto) return;
  std::set<std::string> looked_at, phases;
  for (int look = 0; look < kMostLooks && !result.verdict.origins.empty(); ++look) {
    const bool reference = result.verdict.blame() == compare::Blame::kReference;
    const trace::TraceReader accused(reference ? result.reference.trace : result.candidate.trace);
    const size_t known = looked_at.size() + phases.size();
    const auto sites = compare::zoom_sites(accused, result.verdict);
    if (sites.empty()) return;
    const auto until = compare::zoom_phases(accused, result.verdict);
    looked_at.insert(sites.begin(), sites.end());
    phases.insert(until.begin(), until.end());
    if (looked_at.size() + phases.size() == known) return;
    Scope scope = result.scope;
    scope.full_sites = {looked_at.begin(), looked_at.end()};
    scope.full_phases = {phases.begin(), phases.end()};
    bench.runner().say({"found: " + trace::describe(result.verdict.origins.front().finding.what) +
                        "; looking again with values"});
    const Pair pair = run_pair(bench, scope, options.jobs);
    compare::Verdict verdict = bench.judge(pair.candidate, pair.reference, scope);
    const Pair before = {result.candidate, result.reference};
    if (verdict.origins.empty() && !same_bits(before, pair, result.verdict)) {
      say_not_repeated(bench, result.verdict);
      return;
    }
    result.scope = scope;
    result.candidate = pair.candidate;
    result.reference = pair.reference;
    result.verdict = std::move(verdict);
  }
}

void ablate_failure(Bench& bench, const HuntOptions& options, Hunt& result) {
  if (result.verdict.origins.empty()) return;
  if (result.verdict.blame() == compare::Blame::kReference) {
    result.verdict.cause = no_ablation(
        "the reference breaks its own rules and the candidate does not: nothing of the candidate "
        "to "
        "switch off");
    return;
  }
  // Later steps cannot change which toggle makes this step fail.
  Scope scope = result.scope;
  scope.steps = std::min(scope.steps, result.verdict.origins.front().finding.what.step + 1);
  const Run reference =
      bench.runner().run(bench.request("reference", bench.the_case().reference, scope));
  check_run(bench.runner(), "reference", reference);
  const int32_t ranks = trace::TraceReader(result.candidate.trace).world_size();
  Explanation explanation = explain({bench, result.verdict, reference, scope, ranks}, options.jobs);
  result.verdict.cause = std::move(explanation.cause);
  result.trials = std::move(explanation.trials);
}

// A reference that failed in an earlier run may do so for what was mended since.
std::string kept_from_earlier(const Run& reference) {
  if (!reference.cached) return "";
  return " (kept from an earlier run; delete " + reference.folder.string() + " to run it again)";
}

void judge_own_failure(Bench& bench, const HuntOptions& options, Hunt& result) {
  const Case& the_case = bench.the_case();
  const auto outcome = [&](const Settings& settings, const Run& run) {
    return own_outcome(bench.runner(), bench.request("check", settings, result.scope), run);
  };
  const OwnOutcome failing = outcome(the_case.failing, result.candidate);
  const OwnOutcome reference = outcome(the_case.reference, result.reference);
  result.verdict = own_verdict(failing, reference);
  if (reference.result != TrialResult::kPass) {
    result.verdict.reason += kept_from_earlier(result.reference);
  }
  if (result.verdict.kind != compare::VerdictKind::kFails || !options.ablate) return;
  bench.runner().say({result.verdict.reason});
  Explanation explanation = explain(
      {bench, result.verdict, result.reference, result.scope, 0, failing.failure}, options.jobs);
  result.verdict.cause = std::move(explanation.cause);
  result.trials = std::move(explanation.trials);
}

void judge_by_comparison(Bench& bench, const HuntOptions& options, Hunt& result) {
  bench.runner().say({"both sides ran; calibrating and comparing"});
  result.verdict = bench.judge(result.candidate, result.reference, result.scope);
  look_again_in_full(bench, options, result);
  if (options.ablate && !result.verdict.cause) ablate_failure(bench, options, result);
}

// A run that needed no trace may have left none: what it printed is what there is.
std::filesystem::path evidence_of(const Run& run) {
  return run.left_trace() ? run.trace : run.folder;
}

std::string next_command(const Hunt& result) {
  if (result.verdict.kind == compare::VerdictKind::kFails) {
    const Run& run = result.candidate;
    return run.left_trace() ? "nanhunt scan " + run.trace.string()
                            : "tail " + (run.folder / "stdout.txt").string() + " " +
                                  (run.folder / "stderr.txt").string();
  }
  if (result.verdict.origins.empty()) return "";
  const bool reference = result.verdict.blame() == compare::Blame::kReference;
  return "nanhunt show " + (reference ? result.reference : result.candidate).trace.string() + " " +
         result.verdict.origins.front().finding.what.site + " --values";
}

void write_verdict(const std::filesystem::path& file, const Hunt& result) {
  const auto partial = file.string() + ".part";
  std::ofstream stream(partial);
  stream << to_json(result).dump(2) << "\n" << std::flush;
  if (!stream) throw trace::cannot_write(partial);
  stream.close();
  std::filesystem::rename(partial, file);
}

// What one look at both sides costs, how many there may be, and what a trial costs.
struct Look {
  std::string text;
  int runs = 0;
  int most = 1;
  int runs_of_trial = 1;
};

Look price_of_look(const Case& the_case, const BenchOptions& options) {
  if (tells_failure_itself(the_case.subject)) return {"2 runs", 2};
  const int most = the_case.level == CaseLevel::kAuto ? 1 + kMostLooks : 1;
  const std::string repeats = std::to_string(options.repeats);
  if (calibration_of(the_case.subject, the_case.reference) == Calibrate::kRuns) {
    return {"2 runs and a calibration of " + repeats + " runs, the reference being one of them",
            1 + options.repeats, most, options.repeats};
  }
  return {"2 runs and a calibration of " + repeats + " repeats", 3, most};
}

}  // namespace

Hunt hunt(Bench& bench, const HuntOptions& options) {
  const Case& the_case = bench.the_case();
  Hunt result;
  result.scope.steps = the_case.steps;
  result.scope.level =
      the_case.level == CaseLevel::kFull ? trace::Level::kFull : trace::Level::kStats;
  const Pair pair = run_pair(bench, result.scope, options.jobs);
  result.candidate = pair.candidate;
  result.reference = pair.reference;
  const std::string ignored = ignored_toggles(the_case, pair);
  if (!ignored.empty()) {
    result.verdict.kind = compare::VerdictKind::kUnresolved;
    result.verdict.reason = ignored;
  } else if (tells_failure_itself(the_case.subject)) {
    judge_own_failure(bench, options, result);
  } else {
    judge_by_comparison(bench, options, result);
  }
  result.verdict.candidate = evidence_of(result.candidate).string();
  result.verdict.reference = evidence_of(result.reference).string();
  if (result.verdict.next_command.empty() || !result.verdict.origins.empty()) {
    result.verdict.next_command = next_command(result);
  }
  write_verdict(bench.runner().work() / "verdict.json", result);
  return result;
}

std::vector<std::string> price(const Case& the_case, const BenchOptions& options,
                               double seconds_per_run, int jobs) {
  const size_t toggles =
      differing_toggles(the_case.subject, the_case.failing, the_case.reference).size();
  const int trials = most_trials(toggles);
  const Look look = price_of_look(the_case, options);
  std::vector<std::string> lines;
  lines.push_back("price: " + look.text +
                  (look.most > 1
                       ? "; on a finding the same again with values, until the first bad has them"
                       : "") +
                  "; to explain it at most " + std::to_string(trials) + " trials (" +
                  std::to_string(toggles) + " toggles differ)");
  if (seconds_per_run > 0) {
    char text[96];
    const int runs = look.most * look.runs + look.runs_of_trial * trials + 1;
    std::snprintf(text, sizeof text, "price: at most about %.0f s at %.1f s a run, %d at a time",
                  runs * seconds_per_run / jobs, seconds_per_run, jobs);
    lines.push_back(text);
  }
  return lines;
}

}  // namespace nanhunt::ablate
