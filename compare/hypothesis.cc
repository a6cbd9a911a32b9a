// SPDX-License-Identifier: Apache-2.0
#include "compare/hypothesis.h"

#include <algorithm>
#include <map>
#include <set>

#include "compare/numbers.h"
#include "oracle/mesh.h"

namespace nanhunt::compare {
namespace {

std::string place_of(const trace::RunFacts& facts) {
  return facts.host + (facts.device.empty() ? "" : " " + facts.device);
}

// The mesh axis of which these ranks are exactly one group, or "".
std::string one_group(const TraceSource& source, const std::vector<int32_t>& ranks) {
  const oracle::Mesh mesh(source.facts);
  for (int a = 0; a < trace::kMeshAxes; ++a) {
    const auto axis = static_cast<trace::MeshAxis>(a);
    if (axis == trace::MeshAxis::kMicrobatch || mesh.size(axis) < 2) continue;
    if (mesh.group(ranks.front(), {axis}) == ranks) return std::string(trace::name_of(axis));
  }
  return "";
}

}  // namespace

std::vector<std::string> hosts_of(const TraceSource& source, const std::vector<int32_t>& ranks) {
  std::map<std::string, std::vector<int32_t>> by_place;
  for (const int32_t rank : ranks) {
    const auto* facts = facts_of(source, rank);
    if (facts != nullptr && !facts->host.empty()) by_place[place_of(*facts)].push_back(rank);
  }
  std::vector<std::string> lines;
  for (const auto& [place, list] : by_place) {
    lines.push_back((list.size() == 1 ? "rank " : "ranks ") + list_of(list) + ": " + place);
  }
  return lines;
}

std::string hypothesis_of(const TraceSource& source, const oracle::Finding& finding) {
  const auto& ranks = finding.ranks;
  if (ranks.empty() || !finding.which_known() ||
      static_cast<int32_t>(ranks.size()) == source.world_size) {
    return "";
  }
  if (ranks.size() == 1) {
    return "hypothesis: rank " + list_of(ranks) +
           " alone: its data, device or code path; decided by the same step with the ranks on "
           "other "
           "devices (it stays with the rank: data or code; it stays with the device: hardware)";
  }
  std::set<std::string> hosts;
  for (const int32_t rank : ranks) {
    const auto* facts = facts_of(source, rank);
    if (facts != nullptr) hosts.insert(facts->host);
  }
  std::set<std::string> others;
  for (const auto& facts : source.facts) {
    if (std::ranges::find(ranks, facts.rank) == ranks.end()) others.insert(facts.host);
  }
  if (hosts.size() == 1 && !others.contains(*hosts.begin()) && !others.empty()) {
    return "hypothesis: host " + *hosts.begin() + " alone; decided by the same step on other hosts";
  }
  const std::string group = one_group(source, ranks);
  if (group.empty()) return "";
  return "hypothesis: one " + group + " group alone (ranks " + list_of(ranks) +
         "); decided by the same step with " + group + " of size 1";
}

}  // namespace nanhunt::compare
