// SPDX-License-Identifier: Apache-2.0
#include "compare/numbers.h"
#include "report/sections/sections.h"

namespace nanhunt::report {

Data thresholds(const compare::Verdict& verdict) {
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

}  // namespace nanhunt::report
