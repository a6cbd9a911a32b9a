// SPDX-License-Identifier: Apache-2.0
#include "oracle/replay/local_replay.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "oracle/replay/error_test.h"
#include "oracle/replay/recompute.h"
#include "oracle/rules/rule_tools.h"

namespace nanhunt::oracle {
namespace {

using trace::Record;

// What the capture followed from the operands to the record, less what the replay explains: the
// rounding of the result and those inside the op.
double unexplained_rounding(const Record& record, double roundings) {
  const double followed = record.rounding;
  const double result = trace::unit_roundoff(record.storage);
  const double inside = trace::unit_roundoff(record.compute);
  const double explained = result * result + (roundings + 1) * inside * inside;
  const double left = followed * followed - explained * 1.001;
  return left > 0 ? std::sqrt(left) : 0;
}

Rounding rounding_of(const Record& record, double roundings) {
  // Codes are compared as values.
  const double scale = trace::is_fp8(record.storage) ? attribute(record, "scale").value_or(1) : 1;
  return {trace::unit_roundoff(record.compute), trace::unit_roundoff(record.storage),
          trace::min_subnormal(record.storage) / scale, trace::max_finite(record.storage) / scale,
          unexplained_rounding(record, roundings)};
}

std::string element_text(const ErrorTest& test) {
  return "element " + std::to_string(test.worst) + " is " + short_number(test.found) +
         " where its operands give " + short_number(test.expected);
}

Finding finding_of(const Record& record, const ErrorTest& test, Severity severity) {
  Finding finding = finding_about(record, kLocalReplay, severity);
  finding.decider = Decider::kRecomputation;
  finding.allowed = 1;
  const bool proven = severity == Severity::kProven;
  finding.measured = proven ? test.proven : test.suspicious();
  const std::string test_name = proven ? "element" : test.leading();
  finding.unit = test_name == "element" ? "of the bound, worst element"
                                        : "of the bound, " + test_name + " of all errors";
  finding.evidence = "rank " + std::to_string(record.where.rank) + ": " + element_text(test);
  if (test_name != "element") {
    finding.evidence +=
        "; as a whole the values are " + short_number(test.factor) + " of what their operands give";
  }
  return finding;
}

struct Outcome {
  Replayed replayed = Replayed::kNot;
  std::optional<Finding> finding;
  std::string why_not;
  TermSize terms;
};

struct Tested {
  ErrorTest test;
  TermSize terms;
  std::vector<std::string> derivative_of;
};

// nullopt, with the reason, when no replay explains the record.
std::optional<Tested> test_record(const ReplayIndex& index, const trace::TraceReader& reader,
                                  const Record& record, double lambda, std::string& why_not) {
  std::optional<ErrorTester> tester;
  Tested tested;
  const auto first_look = [&](const Compared& block) {
    if (!tester) {
      tester.emplace(rounding_of(record, block.roundings), block.roundings, lambda,
                     elements_of(record));
      tested.derivative_of = block.derivative_of;
      tested.terms.roundings = block.roundings;
    }
    tester->add(block.found, block.values, block.magnitudes);
  };
  if (!recompute_by_blocks(index, reader, record, first_look, why_not)) return std::nullopt;
  if (tester->wants_dependence()) {
    recompute_by_blocks(
        index, reader, record,
        [&](const Compared& block) {
          tester->add_dependence(block.found, block.values, block.magnitudes);
        },
        why_not);
  }
  tested.test = tester->result();
  const double terms = tester->norm_of_magnitudes();
  if (std::isfinite(terms)) tested.terms.norm = terms;
  return tested;
}

Outcome replay_record(const ReplayIndex& index, const trace::TraceReader& reader,
                      const Record& record, double lambda) {
  Outcome outcome;
  const auto tested = test_record(index, reader, record, lambda, outcome.why_not);
  if (!tested) return outcome;
  const ErrorTest& test = tested->test;
  if (test.compared == 0) {
    outcome.why_not = "operands are not finite";
    return outcome;
  }
  outcome.terms = tested->terms;
  outcome.replayed = test.proven > 1         ? Replayed::kProven
                     : test.suspicious() > 1 ? Replayed::kSuspicious
                                             : Replayed::kWithin;
  if (outcome.replayed == Replayed::kProven) {
    outcome.finding = finding_of(record, test, Severity::kProven);
  } else if (outcome.replayed == Replayed::kSuspicious) {
    outcome.finding = finding_of(record, test, Severity::kSuspicious);
  }
  if (outcome.finding) outcome.finding->derivative_of = tested->derivative_of;
  return outcome;
}

// Threads wait here until what they want fits beside what the others hold.
class Budget {
 public:
  explicit Budget(int64_t bytes) : left_(bytes) {}

  void take(int64_t bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return bytes <= left_; });
    left_ -= bytes;
  }
  void give(int64_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      left_ += bytes;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t left_;
};

// Each thread takes the next record; the first error of any ends all and is thrown again.
class Workers {
 public:
  Workers(const RuleInput& input, const std::vector<int>& todo)
      : input_(input), index_(input.step), todo_(todo), outcomes_(todo.size()) {}

  std::vector<Outcome> run() {
    const size_t count = std::clamp<size_t>(std::thread::hardware_concurrency(), 1,
                                            std::max<size_t>(1, todo_.size()));
    std::vector<std::thread> threads;
    for (size_t t = 1; t < count; ++t) threads.emplace_back([this] { work(); });
    work();
    for (auto& thread : threads) thread.join();
    if (error_) std::rethrow_exception(error_);
    return std::move(outcomes_);
  }

 private:
  void work() {
    try {
      const trace::TraceReader reader(input_.reader->folder());
      for (size_t next = next_++; next < todo_.size(); next = next_++) one(next, reader);
    } catch (...) {
      next_ = todo_.size();
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }

  void one(size_t number, const trace::TraceReader& reader) {
    const Record& record = record_at(input_.step, todo_[number]);
    const int64_t bytes = recompute_bytes(index_, reader, record);
    if (bytes > kReplayBytes) {
      outcomes_[number].why_not = "takes more than " + std::to_string(kReplayBytes >> 30) + " GiB";
      return;
    }
    budget_.take(bytes);
    const std::shared_ptr<void> held(nullptr, [&](void*) { budget_.give(bytes); });
    outcomes_[number] =
        replay_record(index_, reader, record, input_.thresholds["suspicious_lambda"]);
  }

  const RuleInput& input_;
  const ReplayIndex index_;
  const std::vector<int>& todo_;
  std::vector<Outcome> outcomes_;
  std::atomic<size_t> next_ = 0;
  Budget budget_{kReplayBytes};
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

LocalReplay replay_step(const RuleInput& input) {
  LocalReplay result;
  result.by_record.assign(input.step.records.size(), Replayed::kNot);
  if (input.reader == nullptr) return result;
  std::vector<int> todo;
  for (size_t i = 0; i < input.step.records.size(); ++i) {
    if (is_replayable(input.step.records[i])) todo.push_back(static_cast<int>(i));
  }
  if (todo.empty()) return result;
  auto outcomes = Workers(input, todo).run();
  result.terms.resize(input.step.records.size());
  for (size_t i = 0; i < todo.size(); ++i) {
    Outcome& outcome = outcomes[i];
    const Record& record = record_at(input.step, todo[i]);
    result.by_record[static_cast<size_t>(todo[i])] = outcome.replayed;
    result.terms[static_cast<size_t>(todo[i])] = outcome.terms;
    if (outcome.replayed != Replayed::kNot) {
      ++result.replayed;
    } else {
      ++result.not_replayed[trace::site_kind(record.what.site) + " " +
                            std::string(trace::name_of(record.what.phase)) + " " +
                            record.what.role + ": " + outcome.why_not];
    }
    if (outcome.finding) result.findings.push_back(std::move(*outcome.finding));
  }
  return result;
}

}  // namespace nanhunt::oracle
