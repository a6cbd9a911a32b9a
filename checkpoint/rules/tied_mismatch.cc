// SPDX-License-Identifier: Apache-2.0
// Two names of one parameter hold the same bits: by the rules file; by the file's metadata, where
// safetensors.torch.save_model writes the names that it left out (removed name -> kept name); or by
// tie_word_embeddings of config.json, where loading takes the embedding and drops the head.
#include <algorithm>
#include <array>
#include <map>

#include "capsule/load.h"
#include "checkpoint/rule.h"

namespace nanhunt::checkpoint {
namespace {

using ByName = std::map<std::string, const Held*>;

void judge_pair(const ByName& unit, const std::string& first, const std::string& second,
                const std::string& why, bool form_counts, RuleResult* result) {
  const auto one = unit.find(first), other = unit.find(second);
  if (one == unit.end() || other == unit.end()) return;
  const Held &left = *one->second, &right = *other->second;
  if (same_bits(left, right)) return;
  if (!same_form(left, right) && !form_counts) return;
  Finding finding = finding_of("tied_mismatch", oracle::Severity::kProven, left);
  finding.evidence = why;
  if (same_form(left, right)) {
    set_difference(&finding, left, right);
  } else {
    finding.peers.push_back({right.name(), right.file->name});
    finding.affected = left.tensor->elements;
    finding.evidence += "; of another type or shape, " + std::string(right.tensor->type->name) +
                        " " + capsule::shape_text(right.tensor->shape);
  }
  result->findings.push_back(finding);
}

// The one tensor whose name ends so; "" when there is none, or several.
template <size_t N>
std::string only_one(const ByName& unit, const std::array<const char*, N>& endings) {
  std::string found;
  for (const auto& [name, held] : unit) {
    const bool fits = std::any_of(endings.begin(), endings.end(), [&name = name](const char* end) {
      return name == end || name.ends_with(std::string(".") + end);
    });
    if (!fits) continue;
    if (!found.empty()) return "";
    found = name;
  }
  return found;
}

void judge_config(const ByName& unit, RuleResult* result) {
  static constexpr std::array<const char*, 2> kHeads = {"lm_head.weight", "embed_out.weight"};
  static constexpr std::array<const char*, 4> kTables = {
      "embed_tokens.weight", "wte.weight", "word_embeddings.weight", "embed_in.weight"};
  judge_pair(unit, only_one(unit, kHeads), only_one(unit, kTables),
             "config.json says tie_word_embeddings: loading drops this tensor for the other", false,
             result);
}

}  // namespace

RuleResult tied_mismatch(const Evidence& evidence) {
  std::map<int, ByName> units;
  for (const Held& held : evidence.now.tensors) units[held.file->unit][held.name()] = &held;
  RuleResult result;
  for (const auto& [number, unit] : units) {
    for (const auto& [first, second] : evidence.rules.tied) {
      judge_pair(unit, first, second, "tied by the rules " + evidence.rules.name, true, &result);
    }
    if (evidence.now.checkpoint->tied[static_cast<size_t>(number)]) judge_config(unit, &result);
  }
  for (const CheckpointFile& file : evidence.now.checkpoint->files) {
    for (const auto& [removed, kept] : file.header.metadata) {
      judge_pair(units[file.unit], removed, kept, "tied by the metadata of the file", true,
                 &result);
    }
  }
  return result;
}

}  // namespace nanhunt::checkpoint
