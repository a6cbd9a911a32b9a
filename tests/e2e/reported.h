// SPDX-License-Identifier: Apache-2.0
// `nanhunt repro` as a user starts it, and what its report in JSON says (docs/repro.md).
#pragma once

#include "tests/e2e/program.h"

namespace nanhunt::e2e {

struct Reported {
  int status = -1;
  std::string errors;
  // By level, "state"; of a part of it by "state, names". Evidence: all lines.
  std::map<std::string, std::string> verdicts, evidence, implies;

  // Names of the parts that are different, joined by commas; "" when none is.
  std::string different_parts() const;
};

// `nanhunt repro WORDS --json`
Reported reported(const std::vector<std::string>& words);
// The same on a case, in a work folder of its own.
Reported repro(const fs::path& the_case, const std::vector<std::string>& more);

}  // namespace nanhunt::e2e
