// SPDX-License-Identifier: Apache-2.0
// The verdict as text: coverage first, then what was found, then the block for a ticket.
#include "compare/numbers.h"
#include "compare/verdict_words.h"

namespace nanhunt::compare {
namespace {

constexpr size_t kOriginsShown = 8;
constexpr size_t kLinesShown = 6;

std::string of(int64_t part, int64_t whole) {
  return std::to_string(part) + " of " + std::to_string(whole);
}

void add_list(std::string& text, const std::string& title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  text += "  " + title + "\n";
  for (size_t i = 0; i < lines.size() && i < kLinesShown; ++i) text += "    " + lines[i] + "\n";
  if (lines.size() > kLinesShown) {
    text += "    and " + std::to_string(lines.size() - kLinesShown) + " more\n";
  }
}

// Thresholds are named with each judgement of a trace.
bool judges_traces(const Verdict& verdict) {
  return !verdict.thresholds_sha256.empty();
}

std::string coverage_text(const Verdict& verdict) {
  const Coverage& coverage = verdict.coverage;
  std::vector<std::string> steps;
  for (const auto step : coverage.steps) steps.push_back(std::to_string(step));
  std::string text = "Coverage\n";
  if (!judges_traces(verdict)) return text + "  no trace was judged\n";
  text += "  sites " + of(coverage.sites_fired, coverage.sites_expected) +
          ", collectives matched " + of(coverage.collectives_matched, coverage.collectives) +
          ", ranks " + of(coverage.ranks_present, coverage.ranks_expected) + ", steps " +
          (steps.empty() ? "none" : join(steps, " ")) + "\n";
  text += "  records " + std::to_string(coverage.records);
  if (!verdict.reference.empty()) {
    text += ", tensors judged by the reference " + std::to_string(coverage.records_compared);
  }
  const bool full = coverage.replayed > 0 || !coverage.not_replayed.empty();
  if (full) text += ", computed again " + std::to_string(coverage.replayed);
  text += "; unknown placements " + std::to_string(coverage.unknown_placements) +
          ", unseen regions " + std::to_string(coverage.unseen_regions) + "\n";
  for (const auto& [title, lines] : coverage_lists(coverage)) add_list(text, title, lines);
  std::vector<std::string> differences;
  for (const auto& difference : verdict.differences) {
    differences.push_back(difference.key + ": " + difference.candidate +
                          " (reference: " + difference.reference + ")");
  }
  add_list(text, "effective configurations differ", differences);
  std::vector<std::string> changes;
  for (const auto& change : verdict.semantic_changes) {
    changes.push_back(change.key + ": " + change.candidate + " (reference: " + change.reference +
                      ") at " + std::to_string(change.sites.size()) + " sites, first " +
                      change.sites.front() + (change.intended ? "; intended" : ""));
  }
  add_list(text, "ops compute something else by configuration", changes);
  return text;
}

std::string origin_text(const Origin& origin, size_t number) {
  std::string text = "\n" + std::to_string(number) + ". " + place_text(origin.finding) + "\n";
  text += "   " + ranks_text(origin.finding) + "\n";
  text += "   " + rule_text(origin.finding) + "\n";
  for (const auto& line : origin_lines(origin)) text += "   " + line + "\n";
  return text;
}

std::string cause_text(const Cause& cause) {
  std::string text = "\nCause: " + cause.statement + "\n";
  if (!cause.toggles.empty()) text += "  toggles " + toggles_text(cause) + "\n";
  add_list(text, "undecided trials", cause.undecided);
  return text;
}

}  // namespace

std::string ticket(const Verdict& verdict) {
  std::string text = "---- nanhunt ----\nverdict:   " + headline(verdict) + "\n";
  if (!verdict.origins.empty()) {
    const Origin& origin = verdict.origins.front();
    text += "site:      " + place_text(origin.finding) + "\n";
    text += "ranks:     " + ranks_text(origin.finding);
    if (!origin.hosts.empty()) text += " on " + join(origin.hosts, ", ");
    text += "\nrule:      " + rule_text(origin.finding) + "\n";
    text += "inputs:    " + inputs_text(origin) + "\n";
    if (!origin.predicted.empty()) text += "predicted: by " + origin.predicted + "\n";
    if (!origin.lineage.empty()) {
      text += "lineage:   " + origin.lineage + " (" + origin.lineage_detail + ")\n";
    }
    if (!origin.signature.empty()) {
      text += "signature: " + origin.signature +
              (origin.signature_detail.empty() ? "" : " (" + origin.signature_detail + ")") + "\n";
    }
  }
  if (verdict.cause) text += "cause:     " + verdict.cause->statement + "\n";
  if (!verdict.controls_passed) text += "controls:  failed\n";
  if (judges_traces(verdict)) {
    text += "thresholds " + verdict.thresholds_sha256.substr(0, 16) +
            (verdict.exploratory ? " (exploratory)" : "") + "\n";
  }
  if (!verdict.next_command.empty()) text += "next:      " + verdict.next_command + "\n";
  return text + "-----------------\n";
}

std::string to_text(const Verdict& verdict) {
  std::string text = coverage_text(verdict);
  text += "\nVerdict: " + headline(verdict) + "\n";
  for (const auto& event : verdict.events) text += "  event: " + event + "\n";
  for (size_t i = 0; i < verdict.origins.size() && i < kOriginsShown; ++i) {
    text += origin_text(verdict.origins[i], i + 1);
  }
  if (verdict.origins.size() > kOriginsShown) {
    text += "\nand " + std::to_string(verdict.origins.size() - kOriginsShown) +
            " further independent origins\n";
  }
  if (verdict.cause) text += cause_text(*verdict.cause);
  return text + "\n" + ticket(verdict);
}

}  // namespace nanhunt::compare
