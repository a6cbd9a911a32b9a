// SPDX-License-Identifier: Apache-2.0
// Two weights of one unit are not equal to the bit: each was drawn at random. Looked at are weights
// that have the same place in two layers, or that lie in one module beside each other (k_proj and
// v_proj): what a converter mixes up. Copies by design are left out: embeddings tied to heads,
// constants, experts that were all made from one, and tensors that are no "weight" and the same in
// every layer (tables).
#include <algorithm>
#include <map>
#include <tuple>

#include "checkpoint/rule.h"

namespace nanhunt::checkpoint {
namespace {

using Components = std::vector<std::string>;
using Class = std::vector<const Held*>;
constexpr int64_t kLeastElements = 64;

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char letter) { return letter >= '0' && letter <= '9'; });
}

// The components in which two names differ; nothing when they have not the same number of them.
std::vector<size_t> differing(const Components& a, const Components& b) {
  std::vector<size_t> at;
  if (a.size() != b.size()) return at;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) at.push_back(i);
  }
  return at;
}

// Two layers: names differ in one number. Siblings: names differ in one word, behind the last
// number. Elsewhere a second copy of a model lies (an average, a teacher, a target network).
bool mixed_up(const Components& a, const Components& b) {
  const std::vector<size_t> at = differing(a, b);
  if (at.size() != 1) return false;
  if (is_number(a[at[0]]) && is_number(b[at[0]])) return true;
  return std::none_of(a.begin() + static_cast<std::ptrdiff_t>(at[0]), a.end(), is_number) &&
         std::any_of(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(at[0]), is_number);
}

// The name with the number at `place` taken out: equal for the same tensor of all layers.
std::string without(const Components& name, size_t place) {
  std::string text;
  for (size_t i = 0; i < name.size(); ++i) text += (i == place ? "#" : name[i]) + ".";
  return text;
}

// How many tensors of the unit differ from this name in that number alone.
using LayerCount = std::map<std::pair<int, std::string>, int64_t>;

LayerCount count_layers(const Examined& now) {
  LayerCount count;
  for (const Held& held : now.tensors) {
    const Components name = components_of(held.name());
    for (size_t i = 0; i < name.size(); ++i) {
      if (is_number(name[i])) ++count[{held.file->unit, without(name, i)}];
    }
  }
  return count;
}

bool candidate(const Held& held) {
  return held.kind == TensorKind::kWeight && held.tensor->elements >= kLeastElements &&
         !held.facts.constant(*held.tensor->type) && !is_embedding_or_head(held.name());
}

bool has_experts(const Components& name) {
  return std::any_of(name.begin(), name.end(), [](const std::string& part) {
    return part.find("expert") != std::string::npos;
  });
}

// All layers, or all experts of a layer, are equal, and that may be so by design.
bool by_design(const Class& equal, const Held& one, size_t place, const LayerCount& layers) {
  const Components name = components_of(one.name());
  const std::string key = without(name, place);
  const auto alike = std::count_if(equal.begin(), equal.end(), [&](const Held* held) {
    const Components other = components_of(held->name());
    return other.size() == name.size() && without(other, place) == key;
  });
  const auto all = layers.find({one.file->unit, key});
  if (all == layers.end() || alike < all->second) return false;
  return has_experts(name) || (alike > 2 && name.back() != "weight");
}

std::string prefix(const std::string& name, size_t place) {
  const Components parts = components_of(name);
  std::string text;
  for (size_t i = 0; i <= place; ++i) text += (i == 0 ? "" : ".") + parts[i];
  return text;
}

using ClassKey = std::tuple<int, std::string, std::vector<int64_t>, uint64_t>;

ClassKey class_of(const Held& held) {
  return {held.file->unit, std::string(held.tensor->type->name), held.tensor->shape,
          held.facts.digest};
}

}  // namespace

RuleResult duplicate(const Evidence& evidence) {
  std::map<ClassKey, Class> classes;
  const LayerCount layers = count_layers(evidence.now);
  RuleResult result;
  std::map<std::pair<std::string, std::string>, std::pair<size_t, int64_t>> told;  // one a layer
  for (const Held& held : evidence.now.tensors) {
    if (candidate(held)) classes[class_of(held)].push_back(&held);
  }
  for (const Held& held : evidence.now.tensors) {
    if (!candidate(held)) continue;
    const Class& equal = classes.at(class_of(held));
    const Held& base = *equal.front();
    const Components name = components_of(held.name()), other = components_of(base.name());
    if (&held == &base || !mixed_up(name, other)) continue;
    const size_t place = differing(name, other)[0];
    if (is_number(name[place]) && by_design(equal, held, place, layers)) continue;
    if (evidence.rules.accepts("duplicate", held.name())) continue;
    const auto pair = std::pair(prefix(held.name(), place), prefix(base.name(), place));
    if (const auto known = told.find(pair); known != told.end()) {
      ++known->second.second;
      continue;
    }
    told[pair] = {result.findings.size(), 0};
    Finding finding = finding_of("duplicate", oracle::Severity::kSuspicious, held);
    finding.affected = held.tensor->elements;
    finding.peers.push_back({base.name(), base.file->name});
    finding.evidence = "equal to the bit: two weights drawn at random cannot be";
    result.findings.push_back(finding);
  }
  for (const auto& [pair, entry] : told) {
    if (entry.second == 0) continue;
    result.findings[entry.first].evidence +=
        "; with it " + counted(entry.second, "further tensor") + " of these two";
  }
  return result;
}

}  // namespace nanhunt::checkpoint
