// SPDX-License-Identifier: Apache-2.0
// Copies by rank are equal to the bit. Files by rank hold copies and shards under the same names,
// and shards may have the shape of copies; so a mismatch is told only where
//   the rules file says that a tensor is replicated (proven), or
//   more than half of at least 3 files hold the same bits, and the bits are not constant
//   (suspicious): different slices of a weight are not equal by chance.
// What differs otherwise is counted as of unknown relation.
#include <algorithm>
#include <map>
#include <tuple>

#include "checkpoint/rule.h"

namespace nanhunt::checkpoint {
namespace {

using Group = std::vector<const Held*>;
constexpr int64_t kLeastElements = 16;  // fewer may be equal by chance: scales, counters

struct Groups {
  std::vector<Group> groups;
  int64_t apart = 0;  // tensors in files that `separate` did not place
};

Groups copies_by_rank(const Evidence& evidence) {
  std::map<std::tuple<std::string, std::string, std::string>, Group> groups;
  Groups result;
  for (const Held& held : evidence.now.tensors) {
    const auto part = evidence.rules.part_of(held.file->name);
    if (!part) {
      ++result.apart;
      continue;
    }
    groups[{held.file->shape, *part, held.name()}].push_back(&held);
  }
  for (auto& [key, group] : groups) {
    if (group.size() > 1) result.groups.push_back(std::move(group));
  }
  return result;
}

// The bits that more than half of at least 3 copies have; nullptr when there are none such.
const Held* majority_of(const Group& group) {
  if (group.size() < 3) return nullptr;
  for (const Held* one : group) {
    const auto equal = std::count_if(group.begin(), group.end(),
                                     [&](const Held* other) { return same_bits(*one, *other); });
    if (2 * static_cast<size_t>(equal) > group.size()) return one;
  }
  return nullptr;
}

int64_t distinct(const Group& group) {
  Group seen;
  for (const Held* held : group) {
    const bool known = std::any_of(seen.begin(), seen.end(),
                                   [&](const Held* other) { return same_bits(*held, *other); });
    if (!known) seen.push_back(held);
  }
  return static_cast<int64_t>(seen.size());
}

Finding mismatch(const Held& wrong, const Held& right, oracle::Severity severity) {
  Finding finding = finding_of("replica_mismatch", severity, wrong);
  if (same_form(wrong, right)) {
    set_difference(&finding, wrong, right);
  } else {
    finding.peers.push_back({right.name(), right.file->name});
    finding.affected = wrong.tensor->elements;
  }
  return finding;
}

void judge_against(const Held& right, const Group& group, const std::string& why,
                   oracle::Severity severity, RuleResult* result) {
  const auto equal = std::count_if(group.begin(), group.end(),
                                   [&](const Held* held) { return same_bits(right, *held); });
  for (const Held* held : group) {
    if (same_bits(right, *held)) continue;
    Finding finding = mismatch(*held, right, severity);
    finding.evidence = std::to_string(equal) + " of " + std::to_string(group.size()) +
                       " files agree, this one does not; " + why;
    result->findings.push_back(finding);
  }
}

void judge_replicated(const Group& group, const std::string& rules, RuleResult* result) {
  const std::string why = "replicated by the rules " + rules;
  if (const Held* right = majority_of(group)) {
    judge_against(*right, group, why, oracle::Severity::kProven, result);
    return;
  }
  const Held& first = *group.front();
  const Held& other = **std::find_if(group.begin(), group.end(),
                                     [&](const Held* held) { return !same_bits(first, *held); });
  Finding finding = mismatch(first, other, oracle::Severity::kProven);
  finding.evidence = std::to_string(group.size()) + " copies, " + std::to_string(distinct(group)) +
                     " different ones; which of them is right nothing says; " + why;
  result->findings.push_back(finding);
}

// Evidence enough by itself that the others are copies.
bool tells(const Held& majority) {
  return majority.tensor->type->floating && majority.tensor->elements >= kLeastElements &&
         !majority.facts.constant(*majority.tensor->type) && !majority.tensor->type->coded;
}

}  // namespace

RuleResult replica_mismatch(const Evidence& evidence) {
  RuleResult result;
  std::vector<std::string> unknown;
  int64_t equal = 0;
  const Groups found = copies_by_rank(evidence);
  for (const Group& group : found.groups) {
    const Held* majority = majority_of(group);
    if (distinct(group) == 1) {
      ++equal;
    } else if (evidence.rules.is_replicated(group.front()->name())) {
      judge_replicated(group, evidence.rules.name, &result);
    } else if (majority != nullptr && tells(*majority)) {
      judge_against(*majority, group, "different slices would not be equal by chance",
                    oracle::Severity::kSuspicious, &result);
    } else {
      unknown.push_back(group.front()->name());
    }
  }
  if (equal > 0) result.notes.push_back(counted(equal, "tensor") + " in several files: equal");
  if (!unknown.empty()) {
    result.notes.push_back(
        counted(static_cast<int64_t>(unknown.size()), "tensor") +
        " in several files: different, and nothing says whether they are copies or slices (" +
        unknown.front() + (unknown.size() > 1 ? ", ..." : "") + "); --rules FILE tells");
  }
  if (found.apart > 0) {
    result.notes.push_back(counted(found.apart, "tensor") +
                           " in files that \"separate\" of the rules does not place: held against "
                           "no other file");
  }
  return result;
}

}  // namespace nanhunt::checkpoint
