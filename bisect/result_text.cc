// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "bisect/result.h"

namespace nanhunt::bisect {
namespace {

constexpr size_t kMostCandidates = 20;

std::string text_of(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", number);
  return text;
}

std::string counted(int64_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

// git says so, too: a command that is not there fails everywhere.
std::string hint_of(const Trial& trial) {
  const bool not_run = trial.last == "exit status 126" || trial.last == "exit status 127";
  return not_run ? "; a shell ends so when it cannot run a command" : "";
}

std::string runs_of(const Trial& trial) {
  if (trial.given) return trial.last;
  if (trial.runs == 1) return trial.last;
  return counted(trial.failures, "failure") + " in " + counted(trial.runs, "run") +
         (trial.state == ItemState::kGood ? "" : ", " + trial.last);
}

std::string told(const Report& report, size_t item) {
  return name_of(report.items, item) + ": " + runs_of(report.result.trials[item]);
}

std::string head(const Report& report) {
  const Answer& answer = report.result.answer;
  std::string text;
  if (exit_status(report.result) == 0) {
    text += "First bad: " + told(report, *answer.first_bad) + "\n";
    return text + "Last good: " + told(report, *answer.last_good) + "\n";
  }
  text += (word_of(report.result) == "wrong_ends" ? "Wrong ends: " : "Undecided: ") +
          reason_of(report) + "\n";
  if (answer.candidates.empty()) return text;
  text += "Last good: " + told(report, *answer.last_good) + "\n";
  size_t shown = 0;
  for (const size_t item : answer.candidates) {
    if (item == *answer.first_bad || ++shown > kMostCandidates) continue;
    const Trial& trial = report.result.trials[item];
    text += "candidate: " + name_of(report.items, item) + ": " +
            (trial.state == ItemState::kUntried ? "not tried" : runs_of(trial)) + "\n";
  }
  if (shown > kMostCandidates) {
    text += "  and " + std::to_string(shown - kMostCandidates) + " more (--json lists them)\n";
  }
  return text + "candidate: " + told(report, *answer.first_bad) + "\n";
}

std::string not_monotonic(const Report& report) {
  const Answer& answer = report.result.answer;
  if (answer.good_after_bad.empty() || word_of(report.result) == "wrong_ends") return "";
  std::string text =
      "Not monotonic: good again after " + name_of(report.items, *answer.first_bad) +
      "; the list has more than one change, and this is the earliest that was seen\n";
  for (const size_t item : answer.good_after_bad) text += "  " + told(report, item) + "\n";
  return text;
}

std::string untestable(const Report& report) {
  std::string text;
  int64_t number = 0;
  for (size_t i = 0; i < report.items.size(); ++i) {
    if (report.result.trials[i].state != ItemState::kUntestable) continue;
    ++number;
    text += "  " + told(report, i) + "\n";
  }
  return number == 0 ? "" : "Cannot be tested: " + counted(number, "item") + "\n" + text;
}

std::string again(const Report& report) {
  const Answer& answer = report.result.answer;
  std::string text;
  if (answer.last_good) text += "  good: " + report.command(*answer.last_good) + "\n";
  if (answer.first_bad) text += "  bad:  " + report.command(*answer.first_bad) + "\n";
  return text.empty() ? "" : "To see it again:\n" + text;
}

std::string reason_of_kind(const Report& report) {
  const Result& result = report.result;
  const size_t last = report.items.size() - 1;
  switch (result.answer.kind) {
    case AnswerKind::kFound:
      return "";
    case AnswerKind::kCandidates:
      return "the first bad item is one of " + std::to_string(result.answer.candidates.size()) +
             "; those before the last of them cannot be tested";
    case AnswerKind::kFirstIsBad:
      return "the first item is bad already, so the change lies before it: " + told(report, 0) +
             hint_of(result.trials[0]);
    case AnswerKind::kLastIsGood:
      return "the last item is good, so there is nothing to find: " + told(report, last);
    case AnswerKind::kReversed:
      return "the first item is bad and the last is good; is the list upside down? " +
             told(report, 0) + "; " + told(report, last) + hint_of(result.trials[0]);
    case AnswerKind::kEndUntestable: {
      const size_t end = result.trials[0].state == ItemState::kUntestable ? 0 : last;
      return "an end cannot be tested: " + told(report, end) +
             "; choose another one, or --ends-known";
    }
  }
  return "";
}

}  // namespace

std::string name_of(const Items& items, size_t item) {
  const std::string& label = items[item].label;
  return "item " + std::to_string(item + 1) + " of " + std::to_string(items.size()) + ", " +
         items[item].name + (label.empty() ? "" : " (" + label + ")");
}

std::string word_of(const Result& result) {
  const int status = exit_status(result);
  if (status == 3) return "wrong_ends";
  if (!result.stopped.empty()) return "stopped";
  return status == 0 ? "found" : "undecided";
}

std::string word_of(ItemState state) {
  switch (state) {
    case ItemState::kUntried:
      return "untried";
    case ItemState::kGood:
      return "good";
    case ItemState::kBad:
      return "bad";
    case ItemState::kUntestable:
      return "untestable";
  }
  return "";
}

std::string error_statement(const Task& task, const Result& result) {
  const FailureRates& rates = task.rule.rates;
  if (task.rule.deterministic()) {
    return "none, if each item always ends in the same way (flaky ones need --fails-at-least)";
  }
  return "at most " + text_of(result.error) + " that any of " +
         counted(result.called_good + result.called_bad, "decision") + " is wrong (" +
         std::to_string(result.called_good) + " good, each at most " + text_of(result.error_good) +
         "; " + std::to_string(result.called_bad) + " bad, each at most " +
         text_of(result.error_bad) + "), if runs are independent, a bad item fails in at least " +
         text_of(rates.bad_at_least) + " of its runs and a good one in " +
         (rates.good_at_most > 0 ? "at most " + text_of(rates.good_at_most) : "none");
}

std::string reason_of(const Report& report) {
  const Result& result = report.result;
  if (result.stopped.empty() || word_of(result) == "wrong_ends") return reason_of_kind(report);
  return "the search stopped at " + name_of(report.items, result.stopped_at) + ": " +
         result.stopped + "; from 128 on a status is no answer unless --bad names it";
}

std::string to_text(const Report& report) {
  const Result& result = report.result;
  const int64_t tried = result.called_good + result.called_bad;
  int64_t untold = 0;
  for (const Trial& trial : result.trials) untold += trial.state == ItemState::kUntestable;
  std::string text = head(report) + not_monotonic(report) + untestable(report);
  text += "Runs: " + std::to_string(result.runs) + " of " + counted(tried + untold, "item") + ", " +
          std::to_string(report.kept) + " of them from the ledger\n";
  text += "Error: " + error_statement(report.task, result) + "\n";
  text += "Output of the runs: " + report.outputs + " (ITEM-RUN.out, ITEM-RUN.err)\n";
  return text + again(report);
}

}  // namespace nanhunt::bisect
