// SPDX-License-Identifier: Apache-2.0
#include "report/loss_plot.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "compare/numbers.h"

namespace nanhunt::report {
namespace {

using compare::Loss;
using nlohmann::json;

std::string place_of(const Loss& loss) {
  return loss.role == "output" || loss.role == loss.site ? loss.site : loss.site + " " + loss.role;
}

}  // namespace

json loss_plot(const compare::Verdict& verdict) {
  std::map<std::pair<std::string, bool>, std::vector<std::pair<int64_t, double>>> by_name;
  for (const Loss& loss : verdict.losses) {
    by_name[{place_of(loss), false}].emplace_back(loss.step, loss.candidate);
    if (loss.reference) by_name[{place_of(loss), true}].emplace_back(loss.step, *loss.reference);
  }
  json series = json::array();
  for (auto& [key, values] : by_name) {
    if (series.size() == kMostSeries) break;
    if (values.size() > kMostSteps) values.erase(values.begin(), values.end() - kMostSteps);
    json points = json::array();
    for (const auto& [step, value] : values) {
      if (std::isfinite(value)) points.push_back({step, value});
    }
    series.push_back({{"name", key.first + (key.second ? ", reference" : ", candidate")},
                      {"reference", key.second},
                      {"points", std::move(points)}});
  }
  return {{"series", std::move(series)}};
}

std::vector<std::string> non_finite_losses(const compare::Verdict& verdict) {
  std::vector<std::string> lines;
  const auto tell = [&](const Loss& loss, const char* side, double value) {
    if (std::isfinite(value)) return;
    lines.push_back("step " + std::to_string(loss.step) + ", " + place_of(loss) + ": " + side +
                    " " + compare::short_number(value));
  };
  for (const Loss& loss : verdict.losses) {
    tell(loss, "candidate", loss.candidate);
    if (loss.reference) tell(loss, "reference", *loss.reference);
  }
  return lines;
}

}  // namespace nanhunt::report
