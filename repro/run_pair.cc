// SPDX-License-Identifier: Apache-2.0
#include "repro/run_pair.h"

#include <algorithm>
#include <optional>
#include <set>

#include "compare/judge.h"
#include "compare/reference_findings.h"
#include "repro/case_runs.h"
#include "repro/convergence_level.h"
#include "repro/levels.h"
#include "repro/state_report.h"
#include "trace/error.h"

namespace nanhunt::repro {
namespace {

namespace fs = std::filesystem;
using ablate::Run;
using ablate::Scope;

struct Folders {
  fs::path trace;
  std::optional<fs::path> capsules;
};

bool is_trace(const fs::path& folder) {
  std::error_code ignored;
  const fs::directory_iterator entries(folder, ignored);
  return std::any_of(begin(entries), end(entries), [](const fs::directory_entry& entry) {
    return entry.path().filename().string().starts_with("step-");
  });
}

// A run's folder holds `trace` and `capsules`; the capsules of a trace named alone lie inside it,
// or beside it where its own name says that this is a run's folder.
Folders folders_of(const fs::path& named) {
  const bool of_run = !is_trace(named) && is_trace(named / "trace");
  Folders folders{of_run ? named / "trace" : named, std::nullopt};
  const fs::path absolute = fs::absolute(named).lexically_normal();
  std::vector<fs::path> places{named / "capsules"};
  if (absolute.filename() == "trace") places.push_back(absolute.parent_path() / "capsules");
  for (const fs::path& place : places) {
    if (folders.capsules || !is_trace(place)) continue;
    folders.capsules = place;
  }
  return folders;
}

std::vector<int64_t> in_both(std::vector<int64_t> a, const std::vector<int64_t>& b) {
  std::erase_if(a, [&](int64_t step) { return std::ranges::find(b, step) == b.end(); });
  return a;
}

std::string steps_text(const std::vector<int64_t>& steps) {
  std::string text;
  for (const int64_t step : steps) text += (text.empty() ? "" : " ") + std::to_string(step);
  return text.empty() ? "none" : text;
}

LevelReport state_not_judged(const std::string& why) {
  LevelReport level;
  level.level = capsule::Level::kState;
  level.observable = "the state that both start from";
  level.threshold = "equal values; layout-bound state in the same layout only";
  level.evidence = {why};
  return level;
}

// What the two say of their runs, beside what is judged.
void tell_configuration(LevelReport& level, const compare::Verdict& verdict) {
  for (const auto& each : verdict.differences) {
    level.evidence.push_back("configuration: " + each.key + " is " + each.reference + " in A, " +
                             each.candidate + " in B");
  }
  for (const auto& each : verdict.semantic_changes) {
    level.evidence.push_back(
        "computes another formula: " + each.key + " is " + each.reference + " in A, " +
        each.candidate + " in B, at " + each.sites.front() +
        (each.sites.size() > 1 ? " and " + std::to_string(each.sites.size() - 1) + " more" : ""));
  }
}

// Parameters that the first step of both starts from are no work of a step: that they differ says
// nothing of what the steps do, and is told by level state.
compare::Verdict without_start(compare::Verdict verdict) {
  const auto left_out = std::erase_if(verdict.origins, [](const compare::Origin& origin) {
    return origin.finding.rule == compare::kInitialState;
  });
  if (left_out > 0 && verdict.origins.empty())
    verdict.reason = "the first step of both starts from other parameters";
  return verdict;
}

class TracePair {
 public:
  TracePair(const fs::path& a, const fs::path& b, const oracle::Thresholds& thresholds)
      : a_(folders_of(a)), b_(folders_of(b)), thresholds_(thresholds) {
    std::error_code ignored;
    if (fs::equivalent(a_.trace, b_.trace, ignored))
      throw trace::Error(trace::ErrorKind::kUsage,
                         a_.trace.string() + " and " + b_.trace.string() + " are one trace");
  }

  Report report() {
    const trace::TraceReader a(a_.trace), b(b_.trace);
    steps_ = in_both(a.steps(), b.steps());
    Report report{"trace A " + a_.trace.string() + " against B " + b_.trace.string(),
                  {},
                  thresholds_.sha256()};
    report.levels.push_back(state(a, b));
    report.levels.push_back(replay(a, b));
    report.levels.push_back(convergence_not_judged(kNeedsSeeds));
    return report;
  }

 private:
  LevelReport state(const trace::TraceReader& a, const trace::TraceReader& b) {
    if (!a_.capsules || !b_.capsules) {
      const fs::path& without = (a_.capsules ? b : a).folder();
      return state_not_judged("there are no capsules with " + without.string());
    }
    common_ = in_both(capsule::ended_steps(*a_.capsules), capsule::ended_steps(*b_.capsules));
    const int64_t first =
        steps_.empty() ? std::max(a.steps().front(), b.steps().front()) : steps_.front();
    const auto start =
        std::find_if(common_.rbegin(), common_.rend(), [&](int64_t step) { return step <= first; });
    if (start == common_.rend()) {
      return state_not_judged("capsules of both: " + steps_text(common_) +
                              "; none is of the state before step " + std::to_string(first));
    }
    const At in_a{*a_.capsules, *start}, in_b{*b_.capsules, *start};
    start_ = compare_capsules(in_a, in_b);
    LevelReport level = state_level(in_a, in_b);
    judge_state(level, *start_);
    return level;
  }

  LevelReport replay(const trace::TraceReader& a, const trace::TraceReader& b) {
    if (steps_.empty()) {
      LevelReport level = replay_level(b_.trace, a_.trace, 0, 0);
      level.observable = "every tensor of the steps that both captured";
      level.threshold = "bit for bit, rank by rank";
      level.evidence = {"steps of A: " + steps_text(a.steps()) +
                        "; of B: " + steps_text(b.steps()) + "; there is none of both"};
      level.verdict = LevelVerdict::kUnknown;
      level.commands = {command()};
      return level;
    }
    LevelReport level = replay_level(b_.trace, a_.trace, steps_.front(), steps_.back());
    level.observable = "every tensor of the steps of both: " + steps_text(steps_);
    const bool same = same_mesh(a, b);
    const auto verdict =
        same ? compare_bits(b, a, thresholds_) : compare::compare_traces(b, a, thresholds_);
    if (same) {
      judge_bits(level, verdict);
    } else {
      level.threshold =
          "exact rules, and equal logical tensors: the meshes are others, and no "
          "envelope says how far rounding may go";
      conclude(level, without_start(verdict), LevelVerdict::kWithin);
    }
    level.commands = {command()};
    tell_steps(level, a, b);
    tell_configuration(level, verdict);
    // In another mesh the steps round otherwise, and so does what they leave.
    if (same) tell_end(level);
    return level;
  }

  void tell_steps(LevelReport& level, const trace::TraceReader& a, const trace::TraceReader& b) {
    if (a.steps() == b.steps()) return;
    level.evidence.push_back("steps of A: " + steps_text(a.steps()) + "; of B: " +
                             steps_text(b.steps()) + "; those of one alone are not compared");
  }

  // The newest state of both that the compared steps left.
  void tell_end(LevelReport& level) {
    if (!start_ || common_.empty() || common_.back() <= steps_.front()) return;
    const int64_t end = common_.back();
    judge_end(level, *start_, compare_capsules({*a_.capsules, end}, {*b_.capsules, end}));
  }

  std::string command() const {
    return "nanhunt repro --runs " + a_.trace.string() + " " + b_.trace.string();
  }

  Folders a_, b_;
  const oracle::Thresholds& thresholds_;
  std::vector<int64_t> steps_, common_;  // captured; of capsules
  std::optional<StateComparison> start_;
};

}  // namespace

Report run_and_run(ablate::Bench& bench, const oracle::Thresholds& thresholds) {
  const auto& the_case = bench.the_case();
  const int64_t first = first_step(the_case);
  Scope scope = full_scope(bench, first);
  const bool saves = !the_case.subject.capsules.empty();
  if (!saves) scope.capsules.every = 0;
  Report report{"the same run twice: " + ablate::describe(the_case.subject, the_case.failing),
                {},
                thresholds.sha256()};
  const Run one = run(bench, "first run", the_case.failing, scope),
            two = run(bench, "the same run again", the_case.failing, scope, 1);
  std::optional<StateComparison> start;
  if (saves) {
    const At a{one.capsules(), first}, b{two.capsules(), first};
    start = compare_capsules(a, b);
    report.levels.push_back(state_level(a, b));
    judge_state(report.levels.back(), *start);
  } else {
    report.levels.push_back(state_not_judged(the_case.subject.path.string() +
                                             " has no `capsules =`: nothing tells the state"));
  }
  LevelReport& replay =
      report.levels.emplace_back(replay_level(two.trace, one.trace, first, scope.steps - 1));
  judge_bits(replay, two.trace, one.trace, thresholds);
  if (start)
    judge_end(replay, *start,
              compare_capsules({one.capsules(), scope.steps}, {two.capsules(), scope.steps}));
  report.levels.push_back(convergence_not_judged(kNeedsSeeds));
  return report;
}

Report trace_and_trace(const fs::path& a, const fs::path& b, const oracle::Thresholds& thresholds) {
  return TracePair(a, b, thresholds).report();
}

}  // namespace nanhunt::repro
