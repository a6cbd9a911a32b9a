// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "golden/json_values.h"
#include "golden/result.h"

namespace nanhunt::golden {
namespace {

using nlohmann::json;

std::string_view name_of(Standing standing) {
  switch (standing) {
    case Standing::kSame:
      return "same";
    case Standing::kWithin:
      return "within";
    case Standing::kUnjudged:
      return "unjudged";
    case Standing::kDifferent:
      return "different";
  }
  return "";
}

json json_of(const Counts& counts) {
  return {{"same", counts.same},
          {"within", counts.within},
          {"unjudged", counts.unjudged},
          {"different", counts.different}};
}

json json_of(const Difference& difference) {
  const auto& finding = difference.finding;
  return {{"step", finding.what.step},
          {"site", finding.what.site},
          {"phase", trace::name_of(finding.what.phase)},
          {"role", finding.what.role},
          {"occurrence", finding.what.occurrence},
          {"microbatch", finding.microbatch},
          {"ranks", finding.ranks},
          {"rule", finding.rule},
          {"measured", number_json(finding.measured)},
          {"allowed", number_json(finding.allowed)},
          {"unit", finding.unit},
          {"evidence", finding.evidence},
          {"inputs", difference.inputs}};
}

json json_of(const LossPoint& point) {
  return {{"step", point.key.step},
          {"site", point.key.site},
          {"role", point.key.role},
          {"value", number_json(point.value)},
          {"class", golden::name_of(point.kind)},
          {"low", number_json(point.low)},
          {"high", number_json(point.high)},
          {"standing", name_of(point.standing)},
          {"why", point.why}};
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSame:
      return "same";
    case Verdict::kDifferent:
      return "different";
    case Verdict::kUnknown:
      return "unknown";
  }
  return "";
}

int exit_status(Verdict verdict) {
  return verdict == Verdict::kSame ? 0 : verdict == Verdict::kDifferent ? 1 : 125;
}

void Counts::add(Standing standing) {
  switch (standing) {
    case Standing::kSame:
      ++same;
      break;
    case Standing::kWithin:
      ++within;
      break;
    case Standing::kUnjudged:
      ++unjudged;
      break;
    case Standing::kDifferent:
      ++different;
      break;
  }
}

json to_json(const Result& result) {
  json differences = json::array(), different = json::array(), curve = json::array();
  for (const auto& each : result.differences)
    differences.push_back(
        {{"key", each.key}, {"checked", each.candidate}, {"exported", each.reference}});
  for (const auto& each : result.different) different.push_back(json_of(each));
  for (const auto& each : result.curve) curve.push_back(json_of(each));
  return {{"schema", "nanhunt.golden.1"},
          {"verdict", name_of(result.verdict)},
          {"exit_status", exit_status(result.verdict)},
          {"reason", result.reason},
          {"trace", result.trace},
          {"layout", result.layout},
          {"layout_exported", result.layout_exported},
          {"exporting_runs", result.runs},
          {"expected", result.expected},
          {"configuration", differences},
          {"bits_not_judged", result.excuse},
          {"tensors", json_of(result.tensors)},
          {"losses", json_of(result.losses)},
          {"different", different},
          {"passed_on", result.passed_on},
          {"first_unjudged", result.first_unjudged ? json_of(*result.first_unjudged) : json()},
          {"unjudged", result.unjudged},
          {"missing", result.missing},
          {"additional", result.extra},
          {"incomplete", result.incomplete},
          {"by_norm_alone", result.by_norm_alone},
          {"curve", curve},
          {"judged", result.judged},
          {"family_rate", result.family_rate},
          {"thresholds_sha256", result.thresholds_sha256},
          {"exploratory", result.exploratory}};
}

}  // namespace nanhunt::golden
