// SPDX-License-Identifier: Apache-2.0
#include "compare/numbers.h"
#include "report/repro/sections.h"

namespace nanhunt::report {
namespace {

using compare::short_number;

Data cell(const repro::Pair& values) {
  Data data = object();
  data.set("difference", short_number(values.b - values.a));
  data.set("a", short_number(values.a));
  data.set("b", short_number(values.b));
  return data;
}

Data row(const repro::Convergence& result, size_t pair) {
  Data cells(Data::type::list);
  for (const auto& metric : result.metrics) cells.push_back(cell(metric.values[pair]));
  Data data = object();
  data.set("number", std::to_string(pair + 1));
  data.set("files", result.pairs[pair]);
  data.set("cells", cells);
  return data;
}

}  // namespace

Data seeds(const repro::Convergence& result) {
  std::vector<size_t> pairs(result.pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i) pairs[i] = i;
  Data data = table(pairs, kMostFindings, [&](size_t pair) { return row(result, pair); });
  Data names(Data::type::list);
  for (const auto& metric : result.metrics) {
    names.push_back(Data(std::string(repro::name_of(metric.metric))));
  }
  data.set("names", names);
  return data;
}

}  // namespace nanhunt::report
