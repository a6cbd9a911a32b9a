// SPDX-License-Identifier: Apache-2.0
// What the verdict of a bundled case must say: section [expect], held against a verdict field by
// field. Read by the check of the bundled cases alone; docs/cases.md explains the language.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "compare/verdict.h"
#include "repro/report.h"
#include "trace/run_facts.h"

namespace nanhunt::cli {

struct Expectation {
  std::map<std::string, std::string> fields;  // by key of [expect], drawn numbers filled in
};

// Throws Error(kUsage).
Expectation read_expectation(const std::filesystem::path& case_file,
                             const std::map<std::string, int64_t>& drawn);
// What a case without a fault must say; and one whose subject tells failures itself.
Expectation clean_expectation();
Expectation passing_expectation();

struct FieldScore {
  std::string field, expected, got;
  bool same = false;
};

// `candidate` and `reference`: run facts of both traces, by which `tp 1` and `group tp` become
// ranks.
std::vector<FieldScore> score(const Expectation& expectation, const compare::Verdict& verdict,
                              const std::vector<trace::RunFacts>& candidate,
                              const std::vector<trace::RunFacts>& reference);
// `state`, `replay`, `convergence`: verdicts of the levels; `parts`: the parts that are different,
// joined by commas, or none; `evidence`: part of a line of any.
std::vector<FieldScore> score(const Expectation& expectation, const repro::Report& report);
bool is_about_repro(const Expectation& expectation);
bool all_same(const std::vector<FieldScore>& scores);

// Whether the ranks of a finding are those that the words say:
//   all | rank N ... | AXIS N (those with that mesh coordinate) | group AXIS ... (no decider, whole
//   groups)
bool ranks_match(const std::string& expected, const oracle::Finding& finding,
                 const std::vector<trace::RunFacts>& facts);
// "constant_ratio 2": name, and the first number of the detail within 2 %.
bool signature_matches(const std::string& expected, const compare::Origin& origin);
// "layout.sp parallel.tp | none": one of the alternatives, in any order.
bool cause_matches(const std::string& expected, const std::vector<std::string>& toggles);

}  // namespace nanhunt::cli
