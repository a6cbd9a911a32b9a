// SPDX-License-Identifier: Apache-2.0
#include "compare/configuration.h"

#include <map>
#include <set>

#include "compare/coverage.h"
#include "compare/numbers.h"

namespace nanhunt::compare {
namespace {

using Settings = std::map<std::string, std::string>;

void add_mesh(const TraceSource& source, Settings& settings) {
  settings["world size"] = std::to_string(source.world_size);
  if (source.facts.empty()) return;
  const auto& facts = source.facts.front();
  for (int a = 0; a < trace::kMeshAxes; ++a) {
    const auto axis = static_cast<trace::MeshAxis>(a);
    settings["mesh " + std::string(trace::name_of(axis))] =
        std::to_string(facts.mesh_size[static_cast<size_t>(a)]);
  }
  // How a ring came to be written is no setting of the run, what was not captured is coverage.
  for (const auto& [key, value] : facts.facts)
    if (!key.starts_with("ring.") && !tells_what_is_not_captured(key)) settings[key] = value;
}

void add_types(const SideStep& side, Settings& settings) {
  std::map<std::string, std::set<std::string>> types;
  for (const auto& record : side.step->records) {
    if (record.what.phase == trace::Phase::kPreCollective ||
        record.what.phase == trace::Phase::kPostCollective) {
      continue;
    }
    types["storage of " + std::string(trace::name_of(record.what.phase)) + " " + record.what.role]
        .insert(std::string(trace::name_of(record.storage)));
  }
  for (const auto& [key, names] : types) {
    settings[key] = join({names.begin(), names.end()}, " ");
  }
}

}  // namespace

std::map<std::string, std::string> effective_configuration(const SideStep& side) {
  Settings settings;
  add_mesh(*side.source, settings);
  add_types(side, settings);
  return settings;
}

std::vector<ConfigDifference> configuration_differences(const SideStep& candidate,
                                                        const SideStep& reference) {
  const Settings mine = effective_configuration(candidate);
  const Settings other = effective_configuration(reference);
  std::set<std::string> keys;
  for (const auto& [key, value] : mine) keys.insert(key);
  for (const auto& [key, value] : other) keys.insert(key);
  std::vector<ConfigDifference> differences;
  for (const auto& key : keys) {
    // What only one side records is listed with the missing tensors, not here.
    const bool storage = key.starts_with("storage of ");
    if (storage && (!mine.contains(key) || !other.contains(key))) continue;
    const std::string a = mine.contains(key) ? mine.at(key) : "absent";
    const std::string b = other.contains(key) ? other.at(key) : "absent";
    const bool nothing = (a == "absent" || a.empty()) && (b == "absent" || b.empty());
    if (a != b && !nothing) differences.push_back({key, a, b});
  }
  return differences;
}

}  // namespace nanhunt::compare
