// SPDX-License-Identifier: Apache-2.0
#include "compare/verdict_words.h"

#include <algorithm>

#include "compare/numbers.h"

namespace nanhunt::compare {

std::string headline(const Verdict& verdict) {
  std::string text(name_of(verdict.kind));
  if (verdict.blame() != Blame::kNone) text += ", blame " + std::string(name_of(verdict.blame()));
  if (!verdict.reason.empty()) text += ": " + verdict.reason;
  return text;
}

std::string ranks_text(const oracle::Finding& finding) {
  if (!finding.which_known() && !finding.group.empty()) {
    return "group " + finding.group + " (ranks " + list_of(finding.ranks) + "), which = unknown";
  }
  return (finding.ranks.size() == 1 ? "rank " : "ranks ") + list_of(finding.ranks) +
         (finding.side == oracle::Side::kReference ? " of the reference" : "");
}

std::string place_text(const oracle::Finding& finding) {
  std::string text = finding.what.site + ", " + std::string(trace::name_of(finding.what.phase)) +
                     ", " + finding.what.role + ", step " + std::to_string(finding.what.step);
  if (finding.microbatch >= 0) text += ", microbatch " + std::to_string(finding.microbatch);
  return text;
}

std::string rule_text(const oracle::Finding& finding) {
  return finding.rule + " (" + std::string(oracle::name_of(finding.severity)) + "): measured " +
         short_number(finding.measured) + ", allowed " + short_number(finding.allowed) +
         (finding.unit.empty() ? "" : " " + finding.unit);
}

std::string inputs_text(const Origin& origin) {
  switch (origin.inputs) {
    case Inputs::kWithin:
      if (origin.unjudged_between.empty()) return "within: the failure originated here";
      return "within: the failure originated here, or before it, in what the reference could not "
             "judge (tensors: " +
             std::to_string(origin.unjudged_between.size()) + ")";
    case Inputs::kFirstSeen:
      return "not judged: first seen here";
    case Inputs::kInterval:
      return "between the bounds: the origin is one of " + std::to_string(origin.candidates.size());
  }
  return "";
}

std::vector<std::string> origin_lines(const Origin& origin) {
  std::vector<std::string> lines;
  if (!origin.finding.evidence.empty()) lines.push_back(origin.finding.evidence);
  for (const auto& finding : origin.also) lines.push_back("also " + rule_text(finding));
  lines.push_back("inputs " + inputs_text(origin));
  constexpr size_t kShown = 3;  // those nearest to it
  const auto& between = origin.unjudged_between;
  for (size_t i = between.size() - std::min(kShown, between.size()); i < between.size(); ++i)
    lines.push_back("  not judged: " + between[i]);
  if (!origin.downstream_of.empty()) {
    lines.push_back("downstream of " + origin.downstream_of +
                    ": another failure, or what came from there, grown out of rule again");
  }
  if (origin.follows_from_operands) {
    lines.push_back(
        "computed again from its own operands it is the same, within rounding: what it was "
        "given, or that it was this op, is wrong");
  }
  for (const auto& candidate : origin.candidates) lines.push_back("  " + candidate);
  if (!origin.predicted.empty()) {
    lines.push_back("predicted: the two runs differ in " + origin.predicted + " there");
  }
  if (!origin.lineage.empty()) {
    lines.push_back("lineage " + origin.lineage + ": " + origin.lineage_detail);
  }
  if (!origin.growth.empty()) lines.push_back(origin.growth);
  if (!origin.vanished.empty()) {
    lines.push_back("finite again at " + join(origin.vanished, ", "));
  }
  if (!origin.signature.empty()) {
    lines.push_back("signature " + origin.signature +
                    (origin.signature_detail.empty() ? "" : ": " + origin.signature_detail));
  }
  if (origin.blame != Blame::kNone) lines.push_back("blame " + std::string(name_of(origin.blame)));
  if (!origin.hypothesis.empty()) lines.push_back(origin.hypothesis);
  if (origin.passed_on > 0) {
    lines.push_back("passed on: " + std::to_string(origin.passed_on) + " further findings");
  }
  return lines;
}

std::string toggles_text(const Cause& cause) {
  return join(cause.toggles, " ") + (cause.confirmed ? ", confirmed both ways" : ", not confirmed");
}

std::vector<std::pair<std::string, std::vector<std::string>>> coverage_lists(
    const Coverage& coverage) {
  std::vector<std::pair<std::string, std::vector<std::string>>> lists = {
      {"incomplete", coverage.incomplete},
      {"not captured", coverage.not_captured},
      {"dropped by capture", coverage.dropped},
      {"the reference has, the candidate lacks", coverage.missing},
      {"the candidate has, the reference lacks", coverage.extra},
      {"not judged by the reference", coverage.unjudged},
      {"captured in full, not computed again", coverage.not_replayed}};
  std::erase_if(lists, [](const auto& list) { return list.second.empty(); });
  return lists;
}

}  // namespace nanhunt::compare
