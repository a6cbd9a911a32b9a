// SPDX-License-Identifier: Apache-2.0
#include "compare/clip_flow.h"

#include <map>
#include <string>
#include <utility>

#include "oracle/rules/rule_tools.h"

namespace nanhunt::compare {
namespace {

using trace::Phase;

// Of one rank.
struct Clipping {
  std::map<int64_t, std::vector<int>> unscaled;   // by number of the norm
  std::map<int64_t, std::vector<int>> norms;      // by number
  std::map<int64_t, std::vector<int>> factors;    // by number, those other than 1
  std::map<std::string, int64_t> number_of_site;  // of unscaled gradients
};

bool is_gradient(const trace::Record& record, Phase phase) {
  return record.what.phase == phase && record.what.role == "grad";
}

std::map<int32_t, Clipping> clippings(const trace::Step& step) {
  std::map<int32_t, Clipping> by_rank;
  for (size_t i = 0; i < step.records.size(); ++i) {
    const auto& record = step.records[i];
    const bool norm = record.what.role == "grad_norm", factor = record.what.role == "clip_factor";
    const bool gradient = is_gradient(record, Phase::kUnscaled);
    if (!norm && !factor && !gradient) continue;
    const int64_t number = oracle::norm_number(record);
    Clipping& of_rank = by_rank[record.where.rank];
    const int index = static_cast<int>(i);
    if (gradient) {
      of_rank.unscaled[number].push_back(index);
      of_rank.number_of_site[record.what.site] = number;
    }
    if (norm) of_rank.norms[number].push_back(index);
    if (factor && oracle::scalar_of(record) != 1.0) of_rank.factors[number].push_back(index);
  }
  return by_rank;
}

}  // namespace

void add_clip_inputs(const trace::Step& step, std::vector<std::vector<int>>& inputs) {
  auto by_rank = clippings(step);
  const auto add = [&](int record, const std::vector<int>& sources) {
    const auto at = static_cast<size_t>(record);
    for (const int source : sources) {
      const auto& from = step.records[static_cast<size_t>(source)];
      if (from.where.sequence < step.records[at].where.sequence) inputs[at].push_back(source);
    }
  };
  for (auto& [rank, clipping] : by_rank) {
    for (const auto& [number, norms] : clipping.norms) {
      for (const int norm : norms) {
        const auto& record = step.records[static_cast<size_t>(norm)];
        if (!oracle::says(record, "strangers")) add(norm, clipping.unscaled[number]);
      }
    }
    for (const auto& [number, factors] : clipping.factors)
      for (const int factor : factors) add(factor, clipping.norms[number]);
  }
  for (size_t i = 0; i < step.records.size(); ++i) {
    const auto& record = step.records[i];
    const auto found = by_rank.find(record.where.rank);
    if (found == by_rank.end() || !is_gradient(record, Phase::kClipped)) continue;
    Clipping& clipping = found->second;
    const auto number = clipping.number_of_site.find(record.what.site);
    if (number != clipping.number_of_site.end())
      add(static_cast<int>(i), clipping.factors[number->second]);
  }
}

}  // namespace nanhunt::compare
