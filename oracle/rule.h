// SPDX-License-Identifier: Apache-2.0
// Rules that need no reference: each looks at one step of one trace. One file per rule under
// rules/, all of them listed in rules/rule_list.cc; formulas and sources in docs/rules.md.
#pragma once

#include <string>
#include <vector>

#include "oracle/finding.h"
#include "oracle/thresholds.h"
#include "trace/trace_reader.h"

namespace nanhunt::oracle {

struct RuleInput {
  const trace::Step& step;
  const trace::Step* previous;                // the step before, nullptr when not captured
  const trace::TraceReader* reader;           // for values; nullptr for steps made in memory
  const std::vector<trace::RunFacts>& facts;  // by rank
  const Thresholds& thresholds;
};

struct Rule {
  std::string name;  // "replicas_equal"
  Severity severity;
  trace::Level level;     // least level of capture that it needs
  std::string statement;  // one line for show and docs
  std::vector<Finding> (*check)(const RuleInput&);
};

// In the order cheapest and surest first.
const std::vector<Rule>& rules();
// Runs all of them.
std::vector<Finding> check_rules(const RuleInput& input);

}  // namespace nanhunt::oracle
