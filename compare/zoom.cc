// SPDX-License-Identifier: Apache-2.0
// Where a second capture should look: the leading origin's site, the sites it consumed (through
// records that are results of collectives, too), its parameters, the mask of positions, and its
// whole layer when that is cheap. And in which phases.
#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "compare/flow.h"
#include "compare/judge.h"

namespace nanhunt::compare {
namespace {

constexpr int64_t kCheapLayerBytes = int64_t{64} << 20;  // over all ranks, one step
constexpr int kLinksDeep = 3;  // operand, its producer, and what that one read

std::string without_parameter(const std::string& site) {
  for (const std::string suffix : {".weight", ".bias"}) {
    if (site.ends_with(suffix)) return site.substr(0, site.size() - suffix.size());
  }
  return site;
}

// "decoder.layers.3." of "decoder.layers.3.mlp.linear_fc1"; "" outside numbered layers.
std::string layer_of(const std::string& site) {
  size_t begin = 0;
  while (begin < site.size()) {
    const size_t end = std::min(site.find('.', begin), site.size());
    const bool number =
        end > begin && std::all_of(site.begin() + static_cast<std::ptrdiff_t>(begin),
                                   site.begin() + static_cast<std::ptrdiff_t>(end),
                                   [](char c) { return c >= '0' && c <= '9'; });
    if (number && end < site.size()) return site.substr(0, end + 1);
    begin = end + 1;
  }
  return "";
}

int64_t bytes_of(const trace::Record& record) {
  return std::accumulate(record.local_shape.begin(), record.local_shape.end(),
                         static_cast<int64_t>(trace::size_of(record.storage)), std::multiplies<>());
}

// Tells whether what is wrong counts in the loss.
bool is_mask_of_positions(const trace::Record& record) {
  return record.what.role.ends_with("_mask") && record.placement &&
         record.placement->axes == std::vector<std::string>{"sample", "token"};
}

void add_linked_sites(const trace::Step& step, const std::vector<int>& records,
                      std::set<std::string>& sites) {
  const Flow flow(step);
  std::set<int> seen(records.begin(), records.end());
  std::vector<int> front = records;
  for (int depth = 0; depth < kLinksDeep; ++depth) {
    std::vector<int> next;
    for (const int record : front) {
      for (const int input : flow.inputs(record)) {
        if (seen.insert(input).second) next.push_back(input);
      }
    }
    for (const int record : next) sites.insert(step.records[static_cast<size_t>(record)].what.site);
    front = std::move(next);
  }
}

}  // namespace

std::vector<std::string> zoom_sites(const trace::TraceReader& trace, const Verdict& verdict) {
  if (verdict.origins.empty()) return {};
  const auto& finding = verdict.origins.front().finding;
  const auto steps = trace.steps();
  if (std::ranges::find(steps, finding.what.step) == steps.end()) return {};
  const trace::Step step = trace.read_step(finding.what.step);
  std::vector<int> records;
  for (const auto& ref : finding.records) {
    const int index =
        finding.side == oracle::Side::kCandidate ? step.find(ref.rank, ref.sequence) : -1;
    if (index >= 0) records.push_back(index);
  }
  if (records.empty()) {
    for (const auto& [what, list] : step.by_what()) {
      if (what.site == finding.what.site && what.phase == finding.what.phase) {
        records.insert(records.end(), list.begin(), list.end());
      }
    }
  }
  const bool known = !records.empty() && std::ranges::all_of(records, [&](int index) {
    return step.records[static_cast<size_t>(index)].has_values;
  });
  if (known) return {};

  const std::string site = without_parameter(finding.what.site);
  std::set<std::string> sites;
  for (const auto& record : step.records) {
    const std::string& name = record.what.site;
    if (name == site || name == site + ".weight" || name == site + ".bias") sites.insert(name);
  }
  add_linked_sites(step, records, sites);
  for (const auto& record : step.records) {
    if (is_mask_of_positions(record)) sites.insert(record.what.site);
  }
  const std::string layer = layer_of(site);
  int64_t layer_bytes = 0;
  for (const auto& record : step.records) {
    if (!layer.empty() && record.what.site.starts_with(layer)) layer_bytes += bytes_of(record);
  }
  if (!layer.empty() && layer_bytes <= kCheapLayerBytes) {
    std::erase_if(sites, [&](const std::string& name) { return name.starts_with(layer); });
    sites.insert(layer + "**");
  }
  return {sites.begin(), sites.end()};
}

std::vector<std::string> zoom_phases(const trace::TraceReader& trace, const Verdict& verdict) {
  if (verdict.origins.empty()) return {};
  const trace::What& what = verdict.origins.front().finding.what;
  const auto steps = trace.steps();
  const bool first = !steps.empty() && what.step == steps.front();
  const auto collective = [](trace::Phase phase) {
    return phase == trace::Phase::kPreCollective || phase == trace::Phase::kPostCollective;
  };
  const trace::Phase last =
      first ? (collective(what.phase) ? trace::Phase::kPostCollective : what.phase)
            : trace::Phase::kParamSync;
  std::vector<std::string> names;
  for (int number = 0; number <= static_cast<int>(trace::Phase::kParamSync); ++number) {
    const auto phase = static_cast<trace::Phase>(number);
    if (phase <= last || collective(phase)) names.emplace_back(trace::name_of(phase));
  }
  return names;
}

}  // namespace nanhunt::compare
