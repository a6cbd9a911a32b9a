// SPDX-License-Identifier: Apache-2.0
#include "bisect/bisect.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "bisect/commits.h"
#include "bisect/items.h"
#include "bisect/price.h"
#include "bisect/result.h"
#include "bisect/run_ledger.h"
#include "bisect/work_folder.h"
#include "cli/bisect_options.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "trace/error.h"

namespace nanhunt::cli {
namespace {

namespace fs = std::filesystem;

// Runs of items as child processes.
class Trials {
 public:
  Trials(const BisectOptions& options, const bisect::Items& items, const bisect::WorkFolder& folder,
         const bisect::Repository& repository, ablate::ChildRunner& children)
      : options_(options),
        items_(items),
        folder_(folder),
        repository_(repository),
        children_(children) {
    if (options.ledger) ledger_.emplace(*options.ledger, items, options.command);
  }

  // From the ledger, or anew.
  ablate::ChildOutcome run(size_t item, int64_t run) {
    if (const auto known = kept_run(item, run)) {
      ++kept_;
      return *known;
    }
    const ablate::ChildOutcome outcome = start(item, run);
    if (ledger_) ledger_->add(item, run, {outcome, options_.timeout_s});
    return outcome;
  }
  int64_t kept() const { return kept_; }
  size_t in_ledger() const { return ledger_ ? ledger_->size() : 0; }

  std::string command(size_t item) const {
    const std::string& name = items_[item].name;
    const std::string words = "NANHUNT_ITEM=" + bisect::quoted(name) + " " +
                              bisect::quoted(bisect::filled(options_.command, name));
    if (options_.kind != ListKind::kCommits) return words;
    const std::string checkout = folder_.path() / ("again-" + name.substr(0, 12));
    return repository_.checkout_command(name, checkout) + " && cd " + bisect::quoted(checkout) +
           " && " + words;
  }

 private:
  // A run that was ended sooner than it would be now, or that would stop the search, is made again.
  std::optional<ablate::ChildOutcome> kept_run(size_t item, int64_t run) const {
    if (!ledger_) return std::nullopt;
    const auto known = ledger_->find(item, run);
    if (!known) return std::nullopt;
    const bool cut =
        known->outcome.end == ablate::ChildEnd::kTimedOut && known->limit_s < options_.timeout_s;
    const bool stops =
        bisect::meaning_of(options_.statuses, known->outcome) == bisect::Meaning::kStop;
    return cut || stops ? std::nullopt : std::optional(known->outcome);
  }

  ablate::ChildOutcome start(size_t item, int64_t run) {
    const std::string& name = items_[item].name;
    ablate::ChildSpec spec;
    spec.words = bisect::filled(options_.command, name);
    spec.environment = {{"NANHUNT_ITEM", name}, {"NANHUNT_RUN", std::to_string(run)}};
    spec.output = folder_.output_of(item, run, ".out");
    spec.errors = folder_.output_of(item, run, ".err");
    spec.timeout_s = options_.timeout_s;
    std::optional<bisect::Checkout> checkout;
    if (options_.kind == ListKind::kCommits) {
      spec.folder = folder_.checkout();
      checkout.emplace(repository_, name, spec.folder);
    }
    const ablate::ChildOutcome outcome = children_.run(spec);
    if (outcome.end == ablate::ChildEnd::kNotStarted) refuse(item, spec, outcome);
    return outcome;
  }

  [[noreturn]] void refuse(size_t item, const ablate::ChildSpec& spec,
                           const ablate::ChildOutcome& outcome) const {
    const bool in_checkout =
        !spec.folder.empty() && spec.words.front().find('/') != std::string::npos;
    throw trace::Error(trace::ErrorKind::kUnreadable,
                       bisect::name_of(items_, item) + ": '" + spec.words.front() + "' " +
                           ablate::describe(outcome) +
                           (in_checkout ? "; it is looked for in the checkout, and a file outside "
                                          "of it needs an absolute path"
                                        : ""));
  }

  const BisectOptions& options_;
  const bisect::Items& items_;
  const bisect::WorkFolder& folder_;
  const bisect::Repository& repository_;
  ablate::ChildRunner& children_;
  std::optional<bisect::RunLedger> ledger_;
  int64_t kept_ = 0;
};

bisect::Items items_of(const BisectOptions& options, const bisect::Repository& repository) {
  switch (options.kind) {
    case ListKind::kFile:
      return bisect::read_list(options.list);
    case ListKind::kCommits:
      return repository.commits(options.list);
    case ListKind::kRange:
      return bisect::range_items(options.list);
  }
  return {};
}

std::string progress_line(const bisect::Items& items, size_t item, const bisect::Trial& trial,
                          const ablate::ChildOutcome& outcome) {
  const std::string state =
      trial.state == bisect::ItemState::kUntried ? "again" : bisect::word_of(trial.state);
  return bisect::name_of(items, item) + ": run " + std::to_string(trial.runs) + ", " +
         ablate::describe(outcome) + ": " + state;
}

void print_result(const BisectOptions& options, const bisect::Report& report) {
  if (options.json) {
    const auto replace = nlohmann::json::error_handler_t::replace;
    std::printf("%s\n", bisect::to_json(report).dump(2, ' ', false, replace).c_str());
  } else {
    std::fputs(bisect::to_text(report).c_str(), stdout);
  }
}

}  // namespace

int bisect_command(const std::vector<std::string>& arguments) {
  const std::optional<BisectOptions> options = parse_bisect_options(arguments);
  if (!options) return 0;
  const bisect::StoppingRule rule = bisect::stopping_rule(options->rates);
  const bisect::WorkFolder folder(options->out);
  ablate::ChildRunner children(1);
  const bisect::Repository repository(options->repository, folder.path(), children);
  const bisect::Items items = items_of(*options, repository);
  const bisect::Price price =
      bisect::price_of(rule, items.size(), options->ends_known, options->survey);
  const std::vector<std::string> lines = bisect::describe(price, rule, items.size());
  if (options->price) {
    for (const std::string& line : lines) std::printf("%s\n", line.c_str());
    return 0;
  }
  ProgressPrinter progress;
  for (const std::string& line : lines) progress.print({line});
  Trials trials(*options, items, folder, repository, children);
  if (trials.in_ledger() > 0) {
    progress.print({"ledger: " + std::to_string(trials.in_ledger()) + " runs are known"});
  }
  const bisect::Task task{items.size(), rule, options->statuses, options->ends_known,
                          options->survey};
  int64_t done = 0;
  const bisect::Result result = bisect::bisect(
      task, [&](size_t item, int64_t run) { return trials.run(item, run); },
      [&](size_t item, const bisect::Trial& trial, const ablate::ChildOutcome& outcome) {
        progress.print({progress_line(items, item, trial, outcome), static_cast<int>(++done),
                        static_cast<int>(price.runs)});
      });
  print_result(*options, {items, task, price, result, trials.kept(), folder.outputs().string(),
                          [&](size_t item) { return trials.command(item); }});
  return bisect::exit_status(result);
}

}  // namespace nanhunt::cli
