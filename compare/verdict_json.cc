// SPDX-License-Identifier: Apache-2.0
// The verdict as JSON; schema in docs/verdict.md. JSON has no NaN and no Inf: they are strings.
#include <cmath>
#include <nlohmann/json.hpp>

#include "compare/verdict.h"

namespace nanhunt::compare {
namespace {

using nlohmann::json;

json number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Inf" : "-Inf";
  return value;
}

json to_json(const oracle::Finding& finding) {
  json records = json::array();
  for (const auto& ref : finding.records)
    records.push_back({{"rank", ref.rank}, {"sequence", ref.sequence}});
  return {{"rule", finding.rule},
          {"severity", oracle::name_of(finding.severity)},
          {"side", finding.side == oracle::Side::kCandidate ? "candidate" : "reference"},
          {"step", finding.what.step},
          {"site", finding.what.site},
          {"phase", trace::name_of(finding.what.phase)},
          {"role", finding.what.role},
          {"occurrence", finding.what.occurrence},
          {"microbatch", finding.microbatch},
          {"ranks", finding.ranks},
          {"which", finding.which_known() ? "known" : "unknown"},
          {"decider", oracle::name_of(finding.decider)},
          {"group", finding.group},
          {"measured", number(finding.measured)},
          {"allowed", number(finding.allowed)},
          {"unit", finding.unit},
          {"evidence", finding.evidence},
          {"records", records}};
}

json to_json(const Origin& origin) {
  json also = json::array();
  for (const auto& finding : origin.also) also.push_back(to_json(finding));
  return {{"finding", to_json(origin.finding)},
          {"also", also},
          {"inputs", name_of(origin.inputs)},
          {"follows_from_operands", origin.follows_from_operands},
          {"candidates", origin.candidates},
          {"unjudged_between", origin.unjudged_between},
          {"downstream_of", origin.downstream_of},
          {"predicted", origin.predicted},
          {"signature", origin.signature},
          {"signature_detail", origin.signature_detail},
          {"lineage", origin.lineage},
          {"lineage_detail", origin.lineage_detail},
          {"growth", origin.growth},
          {"vanished", origin.vanished},
          {"passed_on", origin.passed_on},
          {"blame", name_of(origin.blame)},
          {"hosts", origin.hosts},
          {"hypothesis", origin.hypothesis}};
}

json to_json(const Coverage& coverage) {
  return {{"sites_fired", coverage.sites_fired},
          {"sites_expected", coverage.sites_expected},
          {"collectives_matched", coverage.collectives_matched},
          {"collectives", coverage.collectives},
          {"records_compared", coverage.records_compared},
          {"records", coverage.records},
          {"replayed", coverage.replayed},
          {"unknown_placements", coverage.unknown_placements},
          {"unseen_regions", coverage.unseen_regions},
          {"steps", coverage.steps},
          {"ranks_present", coverage.ranks_present},
          {"ranks_expected", coverage.ranks_expected},
          {"incomplete", coverage.incomplete},
          {"missing", coverage.missing},
          {"extra", coverage.extra},
          {"unjudged", coverage.unjudged},
          {"not_replayed", coverage.not_replayed},
          {"dropped", coverage.dropped},
          {"not_captured", coverage.not_captured}};
}

json to_json(const Measurement& measurement) {
  return {{"step", measurement.what.step},
          {"site", measurement.what.site},
          {"phase", trace::name_of(measurement.what.phase)},
          {"role", measurement.what.role},
          {"occurrence", measurement.what.occurrence},
          {"rule", measurement.rule},
          {"unit", measurement.unit},
          {"standing", measurement.standing},
          {"measured", number(measurement.measured)},
          {"allowed", number(measurement.allowed)}};
}

json to_json(const Loss& loss) {
  json result{{"step", loss.step},
              {"site", loss.site},
              {"role", loss.role},
              {"candidate", number(loss.candidate)}};
  if (loss.reference) result["reference"] = number(*loss.reference);
  return result;
}

template <typename T>
json list_of(const std::vector<T>& values) {
  json list = json::array();
  for (const T& value : values) list.push_back(to_json(value));
  return list;
}

json to_json(const Cause& cause) {
  return {{"statement", cause.statement},
          {"toggles", cause.toggles},
          {"confirmed", cause.confirmed},
          {"sufficient", cause.sufficient},
          {"undecided", cause.undecided}};
}

}  // namespace

json to_json(const Verdict& verdict) {
  json changes = json::array();
  for (const auto& change : verdict.semantic_changes) {
    changes.push_back({{"key", change.key},
                       {"candidate", change.candidate},
                       {"reference", change.reference},
                       {"sites", change.sites},
                       {"intended", change.intended}});
  }
  json differences = json::array();
  for (const auto& difference : verdict.differences) {
    differences.push_back({{"key", difference.key},
                           {"candidate", difference.candidate},
                           {"reference", difference.reference}});
  }
  json result{{"schema", kSchemaVersion},
              {"verdict", name_of(verdict.kind)},
              {"exit_status", exit_status(verdict)},
              {"reason", verdict.reason},
              {"blame", name_of(verdict.blame())},
              {"coverage", to_json(verdict.coverage)},
              {"origins", list_of(verdict.origins)},
              {"differences", differences},
              {"semantic_changes", changes},
              {"events", verdict.events},
              {"thresholds_sha256", verdict.thresholds_sha256},
              {"thresholds", verdict.thresholds},
              {"exploratory", verdict.exploratory},
              {"controls_passed", verdict.controls_passed},
              {"candidate", verdict.candidate},
              {"reference", verdict.reference},
              {"next_command", verdict.next_command},
              {"measurements", list_of(verdict.measurements)},
              {"losses", list_of(verdict.losses)}};
  if (verdict.cause) result["cause"] = to_json(*verdict.cause);
  return result;
}

}  // namespace nanhunt::compare
