// SPDX-License-Identifier: Apache-2.0
#include "report/error_plot.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "compare/numbers.h"

namespace nanhunt::report {
namespace {

using compare::Measurement;
using nlohmann::json;

bool is_finding(const Measurement& measurement) {
  return measurement.standing == "out";
}

Measurement measurement_of(const oracle::Finding& finding) {
  return {finding.what, finding.rule, finding.unit, "out", finding.measured, finding.allowed};
}

std::vector<Measurement> of_findings(const compare::Verdict& verdict) {
  std::vector<Measurement> list;
  for (const auto& origin : verdict.origins) {
    list.push_back(measurement_of(origin.finding));
    for (const auto& finding : origin.also) list.push_back(measurement_of(finding));
  }
  return list;
}

// Findings first, then what is closest to its bound; the order stays.
std::vector<Measurement> kept(std::vector<Measurement> list) {
  if (list.size() <= kMostPoints) return list;
  const auto weight = [](const Measurement& each) {
    return std::pair(is_finding(each), compare::excess(each));
  };
  std::vector<size_t> places(list.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = i;
  std::ranges::stable_sort(places,
                           [&](size_t a, size_t b) { return weight(list[a]) > weight(list[b]); });
  places.resize(kMostPoints);
  std::ranges::sort(places);
  std::vector<Measurement> result;
  for (const size_t place : places) result.push_back(std::move(list[place]));
  return result;
}

// Whether measured / allowed says how far off it is. Rules such as parameter_moved hold a number
// against what it should be: their findings may be below 1.
bool has_ratio(const Measurement& measurement) {
  const double ratio = compare::excess(measurement);
  return std::isfinite(ratio) && ratio > 0 && (ratio > 1 || !is_finding(measurement));
}

json point(const Measurement& each) {
  return {{"site", each.what.site},
          {"layer", layer_of(each.what.site)},
          {"phase", trace::name_of(each.what.phase)},
          {"role", each.what.role},
          {"step", each.what.step},
          {"rule", each.rule},
          {"standing", each.standing},
          {"text", "measured " + compare::short_number(each.measured) + ", allowed " +
                       compare::short_number(each.allowed) +
                       (each.unit.empty() ? "" : " " + each.unit)}};
}

}  // namespace

std::string layer_of(const std::string& site) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (size_t begin = 0; begin < site.size();) {
    const size_t end = std::min(site.find('.', begin), site.size());
    const bool number = end > begin && std::all_of(site.begin() + static_cast<long>(begin),
                                                   site.begin() + static_cast<long>(end), is_digit);
    if (number) return site.substr(0, end);
    begin = end + 1;
  }
  return site.substr(0, site.find('.'));
}

json error_plot(const compare::Verdict& verdict) {
  const auto list =
      kept(verdict.measurements.empty() ? of_findings(verdict) : verdict.measurements);
  double low = 1, high = 1;
  for (const Measurement& each : list) {
    if (!has_ratio(each)) continue;
    low = std::min(low, compare::excess(each));
    high = std::max(high, compare::excess(each));
  }
  // Ratios of FP64 numbers span more decades than a scale of FP64 numbers.
  const double floor = std::pow(10, std::max(-300.0, std::floor(std::log10(low)) - 1));
  const double top = std::pow(10, std::min(300.0, std::ceil(std::log10(high)) + 1));
  json points = json::array();
  for (const Measurement& each : list) {
    json mine = point(each);
    const bool equal = compare::excess(each) == 0 && !is_finding(each);
    mine["ratio"] =
        has_ratio(each) ? std::clamp(compare::excess(each), floor, top) : (equal ? floor : top);
    points.push_back(std::move(mine));
  }
  return {{"points", std::move(points)}, {"floor", floor}, {"top", top}};
}

}  // namespace nanhunt::report
