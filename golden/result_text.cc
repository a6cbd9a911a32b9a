// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "compare/numbers.h"
#include "compare/verdict_words.h"
#include "golden/result.h"

namespace nanhunt::golden {
namespace {

using compare::short_number;

constexpr size_t kMostDifferences = 5;
constexpr size_t kMostListed = 8;

std::string counts_text(const Counts& counts) {
  return std::to_string(counts.same) + " same bits, " + std::to_string(counts.within) +
         " within noise, " + std::to_string(counts.unjudged) + " unjudged, " +
         std::to_string(counts.different) + " different";
}

std::string rule_text(const oracle::Finding& finding) {
  if (finding.rule == "bits") {
    return finding.measured < 0 ? "" : "off by " + short_number(finding.measured) + " of its norm";
  }
  return "measured " + short_number(finding.measured) + ", allowed " +
         short_number(finding.allowed) + " " + finding.unit;
}

std::string lines_of(const std::string& title, const Difference& difference) {
  const auto& finding = difference.finding;
  std::string text = title + compare::place_text(finding) + ", " + compare::ranks_text(finding) +
                     "\n  " + finding.rule + ": " + finding.evidence;
  if (const std::string rule = rule_text(finding); !rule.empty()) text += "; " + rule;
  text += "\n";
  return text + "  what it was made from: " + difference.inputs + "\n";
}

std::string list_of(const std::string& title, const std::map<std::string, int64_t>& counts) {
  if (counts.empty()) return "";
  std::string text = title + "\n";
  size_t listed = 0;
  for (const auto& [kind, count] : counts) {
    if (listed++ == kMostListed) {
      return text + "  and " + std::to_string(counts.size() - kMostListed) + " more (--json)\n";
    }
    text += "  " + kind + " (" + std::to_string(count) + ")\n";
  }
  return text;
}

std::string losses_text(const Result& result) {
  std::string text;
  size_t told = 0;
  for (const LossPoint& point : result.curve) {
    if (point.standing != Standing::kDifferent && point.standing != Standing::kUnjudged) continue;
    if (told++ == kMostDifferences) break;
    text += std::string(point.standing == Standing::kDifferent ? "Loss different: "
                                                               : "Loss not judged: ") +
            point.key.site + ", step " + std::to_string(point.key.step) + ": " +
            short_number(point.value);
    if (!std::isnan(point.low) || point.kind == Class::kBit) {
      text += point.kind == Class::kBit
                  ? ", expected " + short_number(point.low)
                  : ", expected " + short_number(point.low) + " to " + short_number(point.high);
    }
    text += (point.why.empty() ? "" : " (" + point.why + ")") + "\n";
  }
  return text;
}

std::string differences_text(const Result& result) {
  std::string text;
  for (size_t i = 0; i < result.different.size() && i < kMostDifferences; ++i)
    text += lines_of(i == 0 ? "First different: " : "Different, too: ", result.different[i]);
  if (result.different.size() > kMostDifferences) {
    text += "and " + std::to_string(result.different.size() - kMostDifferences) +
            " more places (--json)\n";
  }
  if (result.different.empty() && result.first_unjudged)
    text += lines_of("First that is not judged: ", *result.first_unjudged);
  return text;
}

}  // namespace

std::string to_text(const Result& result) {
  std::string text = "Configuration: ";
  text += result.differences.empty() ? "as of the exporting runs\n"
                                     : std::to_string(result.differences.size()) + " differences\n";
  for (const auto& difference : result.differences)
    text += "  " + difference.key + ": " + difference.candidate + ", exported with " +
            difference.reference + "\n";
  if (!result.excuse.empty()) text += "  bits that differ are not judged: " + result.excuse + "\n";
  text += "Layout: " + result.layout + (result.layout_exported ? "" : ", not exported") + "; " +
          std::to_string(result.runs) +
          (result.runs == 1 ? " exporting run\n" : " exporting runs\n");
  text += "Tensors: " + std::to_string(result.tensors.all()) + " of " +
          std::to_string(result.expected) + " expected: " + counts_text(result.tensors) + "\n";
  if (result.by_norm_alone > 0)
    text += "  " + std::to_string(result.by_norm_alone) + " of them by their norm alone\n";
  text +=
      "Losses: " + std::to_string(result.losses.all()) + ": " + counts_text(result.losses) + "\n";
  for (const std::string& line : result.incomplete) text += "Incomplete: " + line + "\n";
  text += list_of("Missing:", result.missing) + list_of("Additional:", result.extra) +
          list_of("Not judged:", result.unjudged);
  text += differences_text(result) + losses_text(result);
  text += "Thresholds " + result.thresholds_sha256.substr(0, 16) +
          (result.exploratory ? ", not those of the export: exploratory" : "") +
          "; noise at a family rate of " + short_number(result.family_rate) + " over " +
          std::to_string(result.judged) + " quantities\n";
  return text + "Verdict: " + std::string(name_of(result.verdict)) + ": " + result.reason + "\n";
}

}  // namespace nanhunt::golden
