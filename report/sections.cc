// SPDX-License-Identifier: Apache-2.0
#include "report/sections.h"

#include <cstdio>

#include "ablate/trials_json.h"
#include "compare/numbers.h"
#include "compare/verdict_words.h"
#include "report/loss_plot.h"
#include "report/next_commands.h"
#include "report/page.h"

namespace nanhunt::report {
namespace {

using compare::Verdict;
using compare::VerdictKind;
using Lines = std::vector<std::string>;

Data object() {
  return Data(Data::type::object);
}

// {"rows": [...], "more": {"count"}}: at most `most` of them, each made by `make`.
template <typename T, typename Make>
Data table(const std::vector<T>& values, size_t most, const Make& make) {
  Data rows(Data::type::list);
  for (size_t i = 0; i < values.size() && i < most; ++i) rows.push_back(make(values[i]));
  Data result = object();
  result.set("rows", rows);
  if (values.size() > most) {
    Data more = object();
    more.set("count", std::to_string(values.size() - most));
    result.set("more", more);
  }
  return result;
}

Data list(const Lines& lines) {
  return table(lines, kMostLines, [](const std::string& line) { return Data(line); });
}

// Sections of the template are left out where their key is missing.
void set_unless_empty(Data& data, const std::string& key, const Lines& lines) {
  if (!lines.empty()) data.set(key, list(lines));
}

std::string of(int64_t part, int64_t whole) {
  return std::to_string(part) + " of " + std::to_string(whole);
}

bool judges_traces(const Verdict& verdict) {
  return !verdict.thresholds_sha256.empty();
}

std::string tone_of(VerdictKind kind) {
  switch (compare::exit_status(kind)) {
    case 0:
      return "good";
    case 1:
      return "bad";
    default:
      return "unclear";
  }
}

std::string steps_of(const compare::Coverage& coverage) {
  Lines steps;
  for (const int64_t step : coverage.steps) steps.push_back(std::to_string(step));
  if (steps.empty()) return "none";
  if (steps.size() <= kMostLines) return compare::join(steps, " ");
  return steps.front() + " to " + steps.back() + ", " + std::to_string(steps.size()) + " in all";
}

std::string no_findings(const Verdict& verdict) {
  if (!judges_traces(verdict)) {
    return "No tensor was judged: the subject tells its failure itself.";
  }
  const auto& coverage = verdict.coverage;
  return std::string(verdict.kind == VerdictKind::kClean ? "Clean" : "No finding") + " in sites " +
         of(coverage.sites_fired, coverage.sites_expected) + ", collectives matched " +
         of(coverage.collectives_matched, coverage.collectives) + ", ranks " +
         of(coverage.ranks_present, coverage.ranks_expected) + ", steps " + steps_of(coverage) +
         ". It means no more than what was covered.";
}

Data finding_row(const compare::Origin& origin, size_t number) {
  const oracle::Finding& finding = origin.finding;
  const std::string place = compare::place_text(finding);
  Data row = object();
  row.set("number", std::to_string(number));
  row.set("site", finding.what.site);
  row.set("where", place.substr(std::min(place.size(), finding.what.site.size() + 2)));
  row.set("ranks", compare::ranks_text(finding));
  row.set("rule", finding.rule);
  row.set("severity", std::string(oracle::name_of(finding.severity)));
  row.set("measured", compare::short_number(finding.measured));
  row.set("allowed", compare::short_number(finding.allowed));
  row.set("unit", finding.unit);
  row.set("lines", list(compare::origin_lines(origin)));
  return row;
}

Data findings(const Verdict& verdict) {
  if (verdict.origins.empty()) {
    Data none = object();
    none.set("none", no_findings(verdict));
    return none;
  }
  size_t number = 0;
  return table(verdict.origins, kMostFindings,
               [&](const compare::Origin& origin) { return finding_row(origin, ++number); });
}

Data pair_row(const std::string& key, const std::string& value) {
  Data row = object();
  row.set("key", key);
  row.set("value", value);
  return row;
}

Data coverage(const Verdict& verdict) {
  const compare::Coverage& covered = verdict.coverage;
  Data result = object();
  if (!judges_traces(verdict)) {
    result.set("none", "No trace was judged.");
    return result;
  }
  Data rows(Data::type::list);
  rows.push_back(pair_row("sites fired", of(covered.sites_fired, covered.sites_expected)));
  rows.push_back(
      pair_row("collectives matched", of(covered.collectives_matched, covered.collectives)));
  rows.push_back(pair_row("ranks", of(covered.ranks_present, covered.ranks_expected)));
  rows.push_back(pair_row("steps", steps_of(covered)));
  rows.push_back(pair_row("records", std::to_string(covered.records)));
  if (!verdict.reference.empty()) {
    rows.push_back(
        pair_row("tensors judged by the reference", std::to_string(covered.records_compared)));
  }
  rows.push_back(pair_row("computed again", std::to_string(covered.replayed)));
  rows.push_back(pair_row("unknown placements", std::to_string(covered.unknown_placements)));
  rows.push_back(pair_row("unseen regions", std::to_string(covered.unseen_regions)));
  result.set("rows", rows);
  Data lists(Data::type::list);
  for (const auto& [title, lines] : compare::coverage_lists(covered)) {
    Data each = object();
    each.set("title", title);
    each.set("lines", list(lines));
    lists.push_back(each);
  }
  result.set("lists", lists);
  return result;
}

Data three(const std::string& key, const std::string& candidate, const std::string& reference) {
  Data row = object();
  row.set("key", key);
  row.set("candidate", candidate);
  row.set("reference", reference);
  return row;
}

Data configurations(const Verdict& verdict) {
  Data result = object();
  if (verdict.differences.empty() && verdict.semantic_changes.empty()) {
    result.set("none", verdict.reference.empty() ? "There is no reference to differ from."
                                                 : "They do not differ in what was recorded.");
    return result;
  }
  if (!verdict.differences.empty()) {
    result.set("differences", table(verdict.differences, kMostLines, [](const auto& each) {
                 return three(each.key, each.candidate, each.reference);
               }));
  }
  if (!verdict.semantic_changes.empty()) {
    result.set("changes", table(verdict.semantic_changes, kMostLines, [](const auto& each) {
                 Data row = three(each.key, each.candidate, each.reference);
                 row.set("sites", std::to_string(each.sites.size()) +
                                      (each.sites.empty() ? "" : ", first " + each.sites.front()) +
                                      (each.intended ? "; intended" : ""));
                 return row;
               }));
  }
  return result;
}

Data thresholds(const Verdict& verdict) {
  Data result = object();
  if (!judges_traces(verdict)) {
    result.set("none", "No trace was judged.");
    return result;
  }
  Data judged = object();
  judged.set("hash", verdict.thresholds_sha256);
  judged.set("whose", verdict.exploratory ? "Exploratory: judged with other thresholds than the "
                                            "case's own."
                                          : "The case's own.");
  judged.set("controls", verdict.controls_passed
                             ? "Controls passed, where both sides were compared."
                             : "A control failed: nothing here can be relied on.");
  Data rows(Data::type::list);
  for (const auto& [key, value] : verdict.thresholds) {
    rows.push_back(pair_row(key, compare::short_number(value)));
  }
  judged.set("rows", rows);
  result.set("judged", judged);
  return result;
}

Data trial_row(const ablate::TrialRow& trial) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f", trial.seconds);
  Data row = object();
  row.set("name", trial.name);
  row.set("result", std::string(ablate::name_of(trial.verdict.result)));
  row.set("reason", trial.verdict.reason);
  row.set("seconds", std::string(seconds));
  return row;
}

Data ablation(const Result& result) {
  Data data = object();
  const auto& cause = result.verdict.cause;
  if (!cause && result.trials.empty()) {
    data.set("none", "No toggle was switched.");
    return data;
  }
  if (cause) {
    data.set("statement", cause->statement);
    if (!cause->toggles.empty()) data.set("toggles", compare::toggles_text(*cause));
    set_unless_empty(data, "undecided", cause->undecided);
  }
  if (!result.trials.empty()) data.set("trials", table(result.trials, kMostLines * 4, trial_row));
  return data;
}

Data commands(const Verdict& verdict) {
  return table(next_commands(verdict), kMostLines,
               [](const NextCommand& command) { return pair_row(command.words, command.what); });
}

}  // namespace

Data sections(const Result& result) {
  const Verdict& verdict = result.verdict;
  Data data = object();
  data.set("verdict", std::string(compare::name_of(verdict.kind)));
  data.set("tone", tone_of(verdict.kind));
  data.set("headline", compare::headline(verdict));
  data.set("ticket", compare::ticket(verdict));
  set_unless_empty(data, "events", verdict.events);
  data.set("findings", findings(verdict));
  set_unless_empty(data, "lost", non_finite_losses(verdict));
  data.set("coverage", coverage(verdict));
  data.set("configurations", configurations(verdict));
  data.set("thresholds", thresholds(verdict));
  data.set("ablation", ablation(result));
  data.set("commands", commands(verdict));
  data.set("candidate", verdict.candidate);
  if (!verdict.reference.empty()) data.set("reference", verdict.reference);
  return data;
}

}  // namespace nanhunt::report
