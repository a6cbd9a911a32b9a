// SPDX-License-Identifier: Apache-2.0
// `nanhunt run` on a case, and what its verdict in JSON says (docs/verdict.md).
#pragma once

#include "tests/e2e/program.h"

namespace nanhunt::e2e {

struct Hunted {
  int status = -1;
  std::string errors;  // what it said beside the result

  bool is_json = false;  // and only then the rest is set
  std::string kind, reason, blame;
  std::string incomplete;  // of the coverage, all lines
  int64_t sites_fired = 0, sites_expected = 0, records_compared = 0;
  bool controls_passed = false;
  std::vector<std::string> places;   // "SITE PHASE ROLE" of all origins, the leading one first
  std::vector<std::string> missing;  // of the coverage
  std::vector<int> ranks;            // of the leading origin
  int64_t step = -1;
  std::string signature, lineage, rule;  // of the leading origin
  int64_t replayed = 0;
  std::vector<std::string> not_replayed;
  std::string leading;  // its finding as JSON

  std::string place() const { return places.empty() ? "" : places.front(); }
  std::string describe() const;  // for messages of tests
};

// Result of any command that was run with --json.
Hunted verdict_of(const Ended& ended);
// `nanhunt run CASE --json WORDS`
// The failing side of a case, captured into `out`; then the rules that need no reference.
Hunted capture_and_scan(const std::string& name, const fs::path& out,
                        const std::vector<std::string>& more);
Hunted hunt(const fs::path& case_file, const std::vector<std::string>& words,
            const Environment& added = {});

}  // namespace nanhunt::e2e
