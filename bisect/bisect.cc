// SPDX-License-Identifier: Apache-2.0
#include "bisect/bisect.h"

#include <algorithm>

#include "trace/check.h"
#include "trace/error.h"

namespace nanhunt::bisect {
namespace {

ItemState state_of(Decision decision) {
  switch (decision) {
    case Decision::kRunAgain:
      return ItemState::kUntried;
    case Decision::kGood:
      return ItemState::kGood;
    case Decision::kBad:
      return ItemState::kBad;
    case Decision::kUndecided:
      return ItemState::kUntestable;
  }
  return ItemState::kUntried;
}

// Takes one run into account; false when it stops the search.
bool count_run(const Task& task, const ablate::ChildOutcome& outcome, Trial& trial) {
  const Meaning meaning = meaning_of(task.statuses, outcome);
  if (meaning == Meaning::kStop) return false;
  ++trial.runs;
  if (meaning == Meaning::kGood) ++trial.passes;
  if (meaning == Meaning::kBad) ++trial.failures;
  // A pass among failures does not speak for a bad item.
  if (meaning != Meaning::kGood || trial.failures == 0) trial.last = ablate::describe(outcome);
  if (meaning == Meaning::kUntestable) {
    trial.state = ItemState::kUntestable;
  } else {
    trial.state = state_of(decide(task.rule, trial.passes, trial.failures));
    if (trial.state == ItemState::kUntestable) {
      trial.last = "undecided after " + std::to_string(trial.runs) + " runs";
    }
  }
  return true;
}

// False when the search stops here.
bool try_item(const Task& task, size_t item, const RunItem& run_item, const OnRun& on_run,
              Result& result) {
  Trial& trial = result.trials[item];
  while (trial.state == ItemState::kUntried) {
    const ablate::ChildOutcome outcome = run_item(item, trial.runs + 1);
    ++result.runs;
    if (!count_run(task, outcome, trial)) {
      result.stopped = ablate::describe(outcome);
      result.stopped_at = item;
      return false;
    }
    on_run(item, trial, outcome);
  }
  return true;
}

void sum_errors(const StoppingRule& rule, Result& result) {
  result.error_good = behaviour(rule, rule.rates.bad_at_least).good;
  result.error_bad = behaviour(rule, rule.rates.good_at_most).bad;
  for (const Trial& trial : result.trials) {
    if (trial.given) continue;
    if (trial.state == ItemState::kGood) ++result.called_good;
    if (trial.state == ItemState::kBad) ++result.called_bad;
  }
  result.error = std::min(1.0, static_cast<double>(result.called_good) * result.error_good +
                                   static_cast<double>(result.called_bad) * result.error_bad);
}

}  // namespace

Result bisect(const Task& task, const RunItem& run_item, const OnRun& on_run) {
  NANHUNT_CHECK(task.items >= 2);
  Result result;
  result.trials.resize(task.items);
  if (task.ends_known) {
    result.trials.front() = {.state = ItemState::kGood, .given = true, .last = "taken as good"};
    result.trials.back() = {.state = ItemState::kBad, .given = true, .last = "taken as bad"};
  }
  const std::vector<size_t> survey = survey_of(task.items, task.survey);
  ItemStates states(task.items, ItemState::kUntried);
  const auto refresh = [&] {
    for (size_t i = 0; i < task.items; ++i) states[i] = result.trials[i].state;
  };
  refresh();
  while (const auto item = next_item(states, survey)) {
    const bool goes_on = try_item(task, *item, run_item, on_run, result);
    refresh();
    if (!goes_on) break;
  }
  result.answer = answer_of(states);
  sum_errors(task.rule, result);
  return result;
}

int exit_status(const Result& result) {
  constexpr int kCannotTell = 125;
  switch (result.answer.kind) {
    case AnswerKind::kFound:
      return result.stopped.empty() ? 0 : kCannotTell;
    case AnswerKind::kCandidates:
    case AnswerKind::kEndUntestable:
      return kCannotTell;
    case AnswerKind::kFirstIsBad:
    case AnswerKind::kLastIsGood:
    case AnswerKind::kReversed:
      return static_cast<int>(trace::ErrorKind::kUnreadable);
  }
  return kCannotTell;
}

}  // namespace nanhunt::bisect
