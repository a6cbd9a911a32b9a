// SPDX-License-Identifier: Apache-2.0
#include "cli/expectation.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "ablate/options_file.h"
#include "ablate/schema.h"
#include "cli/fault_draw.h"
#include "trace/error.h"
#include "trace/vocabulary.h"

namespace nanhunt::cli {
namespace {

using Facts = std::vector<trace::RunFacts>;
using Ranks = std::set<int32_t>;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

int32_t coordinate(const trace::RunFacts& facts, trace::MeshAxis axis) {
  return facts.mesh_coordinate[static_cast<size_t>(axis)];
}

// Ranks that share all coordinates with `of` but those of these axes.
Ranks group_of(const trace::RunFacts& of, const std::vector<std::string>& axes,
               const Facts& facts) {
  Ranks group;
  for (const trace::RunFacts& other : facts) {
    bool same = true;
    for (int i = 0; i < trace::kMeshAxes; ++i) {
      const auto axis = static_cast<trace::MeshAxis>(i);
      const bool free = std::find(axes.begin(), axes.end(), trace::name_of(axis)) != axes.end();
      same = same && (free || coordinate(other, axis) == coordinate(of, axis));
    }
    if (same) group.insert(other.rank);
  }
  return group;
}

bool whole_groups(const Ranks& ranks, const std::vector<std::string>& axes, const Facts& facts) {
  for (const trace::RunFacts& rank : facts) {
    if (!ranks.contains(rank.rank)) continue;
    for (const int32_t other : group_of(rank, axes, facts)) {
      if (!ranks.contains(other)) return false;
    }
  }
  return !ranks.empty();
}

std::string ranks_text(const oracle::Finding& finding) {
  std::string text;
  for (const int32_t rank : finding.ranks) text += (text.empty() ? "" : " ") + std::to_string(rank);
  return "ranks " + text +
         (finding.which_known() ? "" : " which = unknown, group " + finding.group);
}

std::string cause_text(const compare::Verdict& verdict) {
  if (!verdict.cause) return "not searched";
  if (verdict.cause->toggles.empty()) return "none (" + verdict.cause->statement + ")";
  return joined(verdict.cause->toggles) + (verdict.cause->confirmed ? "" : " (not confirmed)");
}

// A cause counts when it was confirmed both ways.
bool cause_counts(const std::string& expected, const compare::Verdict& verdict) {
  if (!verdict.cause || !cause_matches(expected, verdict.cause->toggles)) return false;
  return verdict.cause->toggles.empty() || verdict.cause->confirmed;
}

FieldScore score_field(const std::string& field, const std::string& expected,
                       const compare::Verdict& verdict, const Facts& candidate,
                       const Facts& reference) {
  FieldScore result{field, expected, "", false};
  if (field == "verdict") {
    result.got = compare::name_of(verdict.kind);
    result.same = result.got == expected;
    if (!verdict.reason.empty()) result.got += " (" + verdict.reason + ")";
    return result;
  }
  if (field == "blame" || field == "cause") {
    result.got = field == "cause" ? cause_text(verdict) : compare::name_of(verdict.blame());
    result.same = field == "cause" ? cause_counts(expected, verdict) : result.got == expected;
    return result;
  }
  if (verdict.origins.empty()) {
    result.got = "nothing";
    return result;
  }
  const compare::Origin& leading = verdict.origins.front();
  const oracle::Finding& finding = leading.finding;
  if (field == "site") result.got = finding.what.site;
  if (field == "phase") result.got = trace::name_of(finding.what.phase);
  if (field == "role") result.got = finding.what.role;
  if (field == "lineage") result.got = leading.lineage.empty() ? "none" : leading.lineage;
  result.same = result.got == expected;
  if (field == "ranks") {
    result.got = ranks_text(finding);
    result.same = ranks_match(expected, finding,
                              finding.side == oracle::Side::kReference ? reference : candidate);
  }
  if (field == "signature") {
    result.got = leading.signature.empty() ? "none" : leading.signature;
    if (!leading.signature_detail.empty()) result.got += " (" + leading.signature_detail + ")";
    result.same = signature_matches(expected, leading);
  }
  return result;
}

}  // namespace

Expectation read_expectation(const std::filesystem::path& case_file,
                             const std::map<std::string, int64_t>& drawn) {
  const ablate::OptionsFile file = ablate::read_options_file(case_file, ablate::case_schema());
  Expectation expectation;
  for (const ablate::OptionsEntry& entry : file.entries) {
    if (!entry.pattern.starts_with("expect.")) continue;
    try {
      expectation.fields[entry.pattern.substr(7)] = fill_in(entry.value, drawn);
    } catch (const trace::Error& error) {
      ablate::refuse(file.path, entry.line, error.what());
    }
  }
  return expectation;
}

Expectation clean_expectation() {
  return {{{"verdict", "clean"}}};
}

Expectation passing_expectation() {
  return {{{"verdict", "passes"}}};
}

bool ranks_match(const std::string& expected, const oracle::Finding& finding, const Facts& facts) {
  const std::vector<std::string> words = ablate::split_words(expected);
  if (words.empty()) return false;
  const Ranks got(finding.ranks.begin(), finding.ranks.end());
  Ranks wanted;
  if (words[0] == "group") {
    const std::vector<std::string> axes(words.begin() + 1, words.end());
    return !finding.which_known() && finding.group == joined(axes) &&
           whole_groups(got, axes, facts);
  }
  const auto axis = trace::mesh_axis_from_name(words[0]);
  for (const trace::RunFacts& rank : facts) {
    if (words[0] == "all") wanted.insert(rank.rank);
    if (axis && words.size() == 2 && std::to_string(coordinate(rank, *axis)) == words[1]) {
      wanted.insert(rank.rank);
    }
  }
  if (words[0] == "rank") {
    for (size_t i = 1; i < words.size(); ++i) wanted.insert(std::stoi(words[i]));
  }
  return !wanted.empty() && got == wanted;
}

bool signature_matches(const std::string& expected, const compare::Origin& origin) {
  const std::vector<std::string> words = ablate::split_words(expected);
  if (words.empty() || words[0] == "none") return origin.signature.empty();
  if (origin.signature != words[0]) return false;
  if (words.size() == 1) return true;
  const size_t digit = origin.signature_detail.find_first_of("0123456789");
  if (digit == std::string::npos) return false;
  const double wanted = std::stod(words[1]);
  return std::abs(std::stod(origin.signature_detail.substr(digit)) - wanted) <=
         0.02 * std::abs(wanted);
}

bool cause_matches(const std::string& expected, const std::vector<std::string>& toggles) {
  const std::set<std::string> got(toggles.begin(), toggles.end());
  std::set<std::string> wanted;
  std::vector<std::string> words = ablate::split_words(expected);
  words.push_back("|");
  for (const std::string& word : words) {
    if (word != "|") {
      if (word != "none") wanted.insert(word);
      continue;
    }
    if (wanted == got) return true;
    wanted.clear();
  }
  return false;
}

std::vector<FieldScore> score(const Expectation& expectation, const compare::Verdict& verdict,
                              const Facts& candidate, const Facts& reference) {
  std::vector<FieldScore> scores;
  for (const char* field :
       {"verdict", "site", "phase", "role", "ranks", "lineage", "signature", "cause", "blame"}) {
    const auto expected = expectation.fields.find(field);
    if (expected == expectation.fields.end()) continue;
    scores.push_back(score_field(field, expected->second, verdict, candidate, reference));
  }
  return scores;
}

bool is_about_repro(const Expectation& expectation) {
  return expectation.fields.contains("state") || expectation.fields.contains("replay") ||
         expectation.fields.contains("convergence");
}

std::vector<FieldScore> score(const Expectation& expectation, const repro::Report& report) {
  std::vector<FieldScore> scores;
  std::vector<std::string> lines;
  std::set<std::string> different;
  for (const repro::LevelReport& level : report.levels) {
    for (const std::string& line : level.evidence) lines.push_back(line);
    if (!level.part.empty()) {
      if (level.verdict == repro::LevelVerdict::kDifferent) different.insert(level.part);
      continue;
    }
    const std::string field(capsule::name_of(level.level));
    const auto expected = expectation.fields.find(field);
    if (expected == expectation.fields.end()) continue;
    const std::string got(repro::name_of(level.verdict));
    scores.push_back({field, expected->second, got, got == expected->second});
  }
  if (const auto expected = expectation.fields.find("parts");
      expected != expectation.fields.end()) {
    std::string got;
    for (const std::string& part : different) got += (got.empty() ? "" : ", ") + part;
    if (got.empty()) got = "none";
    scores.push_back({"parts", expected->second, got, got == expected->second});
  }
  if (const auto expected = expectation.fields.find("evidence");
      expected != expectation.fields.end()) {
    const auto found = std::ranges::find_if(lines, [&](const std::string& line) {
      return line.find(expected->second) != std::string::npos;
    });
    const bool told = found != lines.end();
    scores.push_back({"evidence", expected->second, told ? *found : "no such line", told});
  }
  return scores;
}

bool all_same(const std::vector<FieldScore>& scores) {
  return std::all_of(scores.begin(), scores.end(),
                     [](const FieldScore& each) { return each.same; });
}

}  // namespace nanhunt::cli
