// SPDX-License-Identifier: Apache-2.0
// The report as text: coverage first, then what was found, then the block for a ticket.
#include <map>

#include "capsule/load.h"
#include "checkpoint/report.h"
#include "compare/numbers.h"

namespace nanhunt::checkpoint {
namespace {

constexpr size_t kFindingsShown = 8;
constexpr size_t kLinesShown = 6;

void add_list(std::string& text, const std::string& title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  text += "  " + title + "\n";
  for (size_t i = 0; i < lines.size() && i < kLinesShown; ++i) text += "    " + lines[i] + "\n";
  if (lines.size() > kLinesShown) {
    text += "    and " + std::to_string(lines.size() - kLinesShown) + " more\n";
  }
}

std::string coverage_text(const Report& report) {
  const Coverage& coverage = report.coverage;
  std::vector<std::string> dtypes;
  for (const auto& [name, count] : coverage.dtypes) {
    dtypes.push_back(name + " " + std::to_string(count));
  }
  std::string text = "Coverage\n  files " + std::to_string(coverage.files) + ", tensors " +
                     std::to_string(coverage.tensors) + ", elements " +
                     std::to_string(coverage.elements) + ", bytes " +
                     std::to_string(coverage.bytes) +
                     "; tensors of each type: " + compare::join(dtypes, ", ") + "\n";
  if (!report.before.empty()) text += "  held against " + report.before + "\n";
  if (!report.rules.empty()) {
    text += "  rules " + report.rules + ", accepted findings " + std::to_string(coverage.accepted) +
            "\n";
  }
  add_list(text, "not read (pickle runs code when it is opened)", coverage.not_read);
  add_list(text, "read, but not named by the index beside it", coverage.not_named);
  add_list(text, "not judged, or only in part", coverage.notes);
  return text;
}

std::string form_text(const Finding& finding) {
  std::string ranks;
  for (const int32_t rank : finding.ranks)
    ranks += (ranks.empty() ? ", ranks " : " ") + std::to_string(rank);
  return finding.dtype + " " + capsule::shape_text(finding.shape) + ", " + finding.file + ranks;
}

std::string rule_text(const Finding& finding) {
  return finding.rule + " (" + std::string(oracle::name_of(finding.severity)) +
         "): " + std::to_string(finding.affected) + " of " + std::to_string(finding.elements) +
         " elements";
}

std::string first_text(const Finding& finding) {
  std::string text = "first at " + capsule::shape_text(finding.place) + " (element " +
                     std::to_string(finding.first->index) + "): " + finding.first->number.text;
  if (!finding.other_value.empty()) text += " against " + finding.other_value;
  return text;
}

std::string finding_text(const Finding& finding, size_t number) {
  std::string text = "\n" + std::to_string(number) + ". " + finding.tensor + "\n";
  text += "   " + form_text(finding) + "\n";
  text += "   " + rule_text(finding) + "\n";
  if (finding.first) text += "   " + first_text(finding) + "\n";
  for (const Peer& peer : finding.peers) {
    text += "   against " + peer.tensor + ", " + peer.file + "\n";
  }
  if (!finding.evidence.empty()) text += "   " + finding.evidence + "\n";
  return text;
}

// "all_zero 2, non_finite 14"
std::string counts_text(const std::vector<Finding>& findings) {
  std::map<std::string, int> counts;
  for (const Finding& finding : findings) ++counts[finding.rule];
  std::vector<std::string> parts;
  for (const auto& [rule, count] : counts) parts.push_back(rule + " " + std::to_string(count));
  return compare::join(parts, ", ");
}

std::string headline(const Report& report) {
  std::string text(compare::name_of(report.kind));
  return report.reason.empty() ? text : text + ": " + report.reason;
}

std::string ticket(const Report& report) {
  std::string text = "---- nanhunt ----\nverdict:    " + headline(report) + "\n";
  text += "checkpoint: " + report.checkpoint + "\n";
  if (!report.before.empty()) text += "before:     " + report.before + "\n";
  if (!report.findings.empty()) {
    const Finding& finding = report.findings.front();
    text += "tensor:     " + finding.tensor + "\n";
    text += "file:       " + finding.file + "\n";
    text += "rule:       " + rule_text(finding) + "\n";
    if (finding.first) text += "element:    " + first_text(finding) + "\n";
    if (report.findings.size() > 1) text += "findings:   " + counts_text(report.findings) + "\n";
  }
  return text + "-----------------\n";
}

}  // namespace

std::string to_text(const Report& report) {
  std::string text = coverage_text(report) + "\nVerdict: " + headline(report) + "\n";
  for (size_t i = 0; i < report.findings.size() && i < kFindingsShown; ++i) {
    text += finding_text(report.findings[i], i + 1);
  }
  if (report.findings.size() > kFindingsShown) {
    text += "\nand " + std::to_string(report.findings.size() - kFindingsShown) +
            " further findings; in all: " + counts_text(report.findings) + "\n";
  }
  return text + "\n" + ticket(report);
}

}  // namespace nanhunt::checkpoint
