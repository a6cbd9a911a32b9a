// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "checkpoint/rule.h"

namespace nanhunt::checkpoint {
namespace {

using Key = std::pair<std::string, std::string>;  // file, tensor; file "" where the name is unique

std::map<std::string, int> times_named(const Examined& side) {
  std::map<std::string, int> times;
  for (const Held& held : side.tensors) ++times[held.name()];
  return times;
}

}  // namespace

Finding finding_of(std::string rule, oracle::Severity severity, const Held& held) {
  Finding finding;
  finding.rule = std::move(rule);
  finding.severity = severity;
  finding.tensor = held.name();
  finding.file = held.file->name;
  finding.dtype = held.tensor->type->name;
  finding.shape = held.tensor->shape;
  finding.elements = held.tensor->elements;
  if (held.file->ranks) finding.ranks = held.file->ranks(*held.tensor, -1);
  return finding;
}

void set_first(Finding* finding, const Held& held, const Element& element) {
  finding->first = element;
  finding->place = place_of(*held.tensor, element.index);
  if (held.file->ranks) finding->ranks = held.file->ranks(*held.tensor, element.index);
}

void set_difference(Finding* finding, const Held& held, const Held& other) {
  finding->peers.push_back({other.name(), other.file->name});
  const Difference found = difference(TensorData(held.file->header), *held.tensor,
                                      TensorData(other.file->header), *other.tensor);
  finding->affected = found.count;
  if (found.count == 0) return;
  set_first(finding, held, {found.first, found.left});
  finding->other_value = found.right.text;
}

bool same_form(const Held& a, const Held& b) {
  return a.tensor->type == b.tensor->type && a.tensor->shape == b.tensor->shape;
}

bool same_bits(const Held& a, const Held& b) {
  return same_form(a, b) && a.facts.digest == b.facts.digest;
}

std::string counted(int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

Paired pair_up(const Examined& now, const Examined& before) {
  const auto times_now = times_named(now), times_before = times_named(before);
  const auto once = [](const std::map<std::string, int>& times, const std::string& name) {
    const auto found = times.find(name);
    return found == times.end() || found->second == 1;
  };
  const auto key_of = [&](const Held& held) {
    const bool unique = once(times_now, held.name()) && once(times_before, held.name());
    return Key(unique ? "" : held.file->name, held.name());
  };
  std::map<Key, const Held*> older;
  for (const Held& held : before.tensors) older[key_of(held)] = &held;
  Paired paired;
  for (const Held& held : now.tensors) {
    const auto found = older.find(key_of(held));
    if (found == older.end()) {
      paired.only_now.push_back(&held);
      continue;
    }
    paired.pairs.push_back({&held, found->second});
    older.erase(found);
  }
  for (const auto& [key, held] : older) paired.only_before.push_back(held);
  return paired;
}

}  // namespace nanhunt::checkpoint
