// SPDX-License-Identifier: Apache-2.0
// The rules of a checkpoint: each takes what the pass over all tensors told and gives the findings
// that break it. A rule is a file in rules/, and a line of the list in rule_list.cc.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/finding.h"
#include "checkpoint/layout.h"
#include "checkpoint/rules_file.h"
#include "checkpoint/tensor_kind.h"

namespace nanhunt::checkpoint {

// A tensor of a file, after the pass.
struct Held {
  const CheckpointFile* file = nullptr;
  const TensorEntry* tensor = nullptr;
  TensorKind kind = TensorKind::kOther;
  TensorFacts facts;

  const std::string& name() const { return tensor->name; }
};

struct Examined {
  const Checkpoint* checkpoint = nullptr;  // outlives this
  std::vector<Held> tensors;               // by file, then place in it
};

struct Evidence {
  const Examined& now;
  const Examined* before = nullptr;  // an older checkpoint of the same run
  const RulesFile& rules;
};

struct RuleResult {
  std::vector<Finding> findings;
  std::vector<std::string> notes;  // what the rule could not judge, for the coverage
};

struct Rule {
  std::vector<std::string_view> names;  // of the findings it makes
  RuleResult (*judge)(const Evidence& evidence);
};

const std::vector<Rule>& rule_list();
bool is_rule(const std::string& name);

RuleResult non_finite(const Evidence& evidence);
RuleResult negative_second_moment(const Evidence& evidence);
RuleResult replica_mismatch(const Evidence& evidence);
RuleResult tied_mismatch(const Evidence& evidence);
RuleResult same_tensors(const Evidence& evidence);
RuleResult unchanged(const Evidence& evidence);
RuleResult step_did_not_move(const Evidence& evidence);
RuleResult all_zero(const Evidence& evidence);
RuleResult constant(const Evidence& evidence);
RuleResult duplicate(const Evidence& evidence);

// A finding about a tensor, without its evidence.
Finding finding_of(std::string rule, oracle::Severity severity, const Held& held);
void set_first(Finding* finding, const Held& held, const Element& element);
// Counts and the first place where two tensors of one type and shape differ, with both values.
void set_difference(Finding* finding, const Held& held, const Held& other);
bool same_form(const Held& a, const Held& b);                 // type and shape
bool same_bits(const Held& a, const Held& b);                 // form and digest
std::string counted(int64_t count, const std::string& what);  // "1 tensor", "3 tensors"

// Pairs of a tensor now and before. By name where that is in one file on each side, else by file
// and name.
struct Pair {
  const Held* now = nullptr;
  const Held* before = nullptr;
};
struct Paired {
  std::vector<Pair> pairs;
  std::vector<const Held*> only_now, only_before;
};
Paired pair_up(const Examined& now, const Examined& before);

}  // namespace nanhunt::checkpoint
