// SPDX-License-Identifier: Apache-2.0
// What two builds are told otherwise, and what each decides by a default of its own: read from the
// facts of their traces and from the attributes that ops record, before any value is.
#pragma once

#include <string>
#include <vector>

#include "trace/trace_reader.h"

namespace nanhunt::repro {

struct ConfigurationDifferences {
  std::vector<std::string> formulas;   // ops that compute something else
  std::vector<std::string> intended;   // of these, what is meant to change
  std::vector<std::string> facts;      // versions, flags, environment, mesh, types
  std::vector<std::string> one_sided;  // attributes that one side alone tells: nobody knows the
                                       // other's, which may be a default that appeared
};

// One step that both have. `intended`: keys of formulas ("gelu.tanh").
ConfigurationDifferences compare_configurations(const trace::TraceReader& a,
                                                const trace::TraceReader& b, int64_t step,
                                                const std::vector<std::string>& intended);

}  // namespace nanhunt::repro
