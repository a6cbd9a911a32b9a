// SPDX-License-Identifier: Apache-2.0
#include "compare/flow.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "compare/clip_flow.h"

namespace nanhunt::compare {

using trace::Collective;

Flow::Flow(const trace::Step& step) : step_(step), inputs_(step.records.size()) {
  add_links();
  match_collectives();
  for (const auto& calls : collectives_) add_operands(calls);
  add_clip_inputs(step, inputs_);
  for (auto& inputs : inputs_) {
    std::sort(inputs.begin(), inputs.end());
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  }
}

void Flow::add_links() {
  for (size_t i = 0; i < step_.records.size(); ++i) {
    const auto& record = step_.records[i];
    for (const auto& link : record.links) {
      const int input = step_.find(record.where.rank, link.sequence);
      if (input >= 0 && input != static_cast<int>(i)) inputs_[i].push_back(input);
    }
  }
}

void Flow::match_collectives() {
  std::map<std::tuple<std::vector<int32_t>, int64_t, std::string>, CollectiveCalls> matched;
  for (size_t i = 0; i < step_.collectives.size(); ++i) {
    const Collective& call = step_.collectives[i];
    const bool p2p = call.op == "send" || call.op == "recv";
    matched[{call.group, call.group_sequence, p2p ? "p2p" : call.op}].push_back(
        static_cast<int>(i));
  }
  for (auto& [key, calls] : matched) collectives_.push_back(std::move(calls));
}

bool Flow::data_flows(int from, int to) const {
  const Collective& source = step_.collectives[static_cast<size_t>(from)];
  if (source.op == "broadcast") return !source.group.empty() && source.rank == source.group.front();
  if (source.op == "send") return from != to;
  if (source.op == "recv") return from == to;
  return true;
}

void Flow::add_operands(const CollectiveCalls& calls) {
  for (const int to : calls) {
    const Collective& target = step_.collectives[static_cast<size_t>(to)];
    for (size_t k = 0; k < target.outputs.size(); ++k) {
      const int output = step_.find(target.rank, target.outputs[k]);
      if (output < 0) continue;
      for (const int from : calls) {
        if (!data_flows(from, to)) continue;
        const Collective& source = step_.collectives[static_cast<size_t>(from)];
        // Several tensors in one call are reduced pairwise: result k comes from operand k alone.
        const bool pairwise = source.inputs.size() == target.outputs.size();
        for (size_t j = pairwise ? k : 0; j < (pairwise ? k + 1 : source.inputs.size()); ++j) {
          const int input = step_.find(source.rank, source.inputs[j]);
          if (input >= 0 && input != output) inputs_[static_cast<size_t>(output)].push_back(input);
        }
      }
    }
  }
}

int64_t Flow::matched_calls() const {
  int64_t matched = 0;
  for (const auto& calls : collectives_) {
    std::set<int32_t> ranks;
    for (const int call : calls) ranks.insert(step_.collectives[static_cast<size_t>(call)].rank);
    const auto& group = step_.collectives[static_cast<size_t>(calls.front())].group;
    const bool whole =
        std::all_of(group.begin(), group.end(), [&](int32_t rank) { return ranks.contains(rank); });
    if (whole) matched += static_cast<int64_t>(calls.size());
  }
  return matched;
}

}  // namespace nanhunt::compare
