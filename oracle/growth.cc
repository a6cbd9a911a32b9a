// SPDX-License-Identifier: Apache-2.0
#include "oracle/growth.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "oracle/rules/rule_tools.h"

namespace nanhunt::oracle {
namespace {

using trace::Phase;

bool has_growth(const trace::What& what) {
  return (what.phase == Phase::kForward || what.phase == Phase::kLoss ||
          what.phase == Phase::kBackward) &&
         what.role != "param";
}

// nullopt: a link leads nowhere.
std::optional<std::set<trace::What>> sources_of(const trace::Step& step, const trace::What& what) {
  std::set<trace::What> sources;
  const auto records = step.by_what().find(what);
  if (records == step.by_what().end()) return std::nullopt;
  for (const int index : records->second) {
    const trace::Record& record = record_at(step, index);
    for (const trace::Link& link : record.links) {
      const int at = step.find(record.where.rank, link.sequence);
      if (at < 0) return std::nullopt;
      const trace::What& source = record_at(step, at).what;
      if (source != what && source.role != "param") sources.insert(source);
    }
  }
  return sources;
}

}  // namespace

std::vector<std::vector<int>> linked_inputs(const trace::Step& step,
                                            const std::vector<Logical>& logicals) {
  std::map<trace::What, int> index_of;
  for (size_t l = 0; l < logicals.size(); ++l) index_of[logicals[l].what] = static_cast<int>(l);
  std::vector<std::vector<int>> inputs(logicals.size());
  for (size_t l = 0; l < logicals.size(); ++l) {
    if (!has_growth(logicals[l].what)) continue;
    const auto sources = sources_of(step, logicals[l].what);
    if (!sources) continue;
    const bool known = std::ranges::all_of(
        *sources, [&](const trace::What& source) { return index_of.contains(source); });
    for (const trace::What& source : *sources) {
      if (known) inputs[l].push_back(index_of.at(source));
    }
    std::ranges::sort(inputs[l]);
  }
  return inputs;
}

std::optional<double> error_in(const std::vector<int>& inputs, const std::vector<double>& errors) {
  if (inputs.empty()) return std::nullopt;
  double squares = 0;
  for (const int input : inputs) {
    const double error = errors[static_cast<size_t>(input)];
    if (!(error >= 0) || !std::isfinite(error)) return std::nullopt;
    squares += error * error;
  }
  return std::sqrt(squares);
}

double growth(double error_out, double error_in, double healthy_in) {
  return error_out / std::max(error_in, healthy_in);
}

}  // namespace nanhunt::oracle
