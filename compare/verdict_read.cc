// SPDX-License-Identifier: Apache-2.0
// A verdict from its JSON; schema in docs/verdict.md. Measurements, losses and thresholds may be
// missing: results had none at first.
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>

#include "compare/verdict.h"
#include "trace/error.h"

namespace nanhunt::compare {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string& why) {
  throw trace::Error(trace::ErrorKind::kUnreadable, "no verdict: " + why);
}

const json& field(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) refuse("it has no '" + std::string(key) + "'");
  return *found;
}

template <typename T>
T get(const json& object, const char* key) {
  return field(object, key).get<T>();
}

std::string text(const json& object, const char* key) {
  return get<std::string>(object, key);
}

std::vector<std::string> texts(const json& object, const char* key) {
  return get<std::vector<std::string>>(object, key);
}

double number(const json& object, const char* key) {
  const json& value = field(object, key);
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (value == "Inf") return std::numeric_limits<double>::infinity();
  if (value == "-Inf") return -std::numeric_limits<double>::infinity();
  return value.get<double>();
}

// The value of that name.
template <typename E>
E named(const json& object, const char* key, std::initializer_list<E> values) {
  const std::string name = text(object, key);
  for (const E value : values) {
    if (name_of(value) == name) return value;
  }
  refuse("'" + std::string(key) + "' is '" + name + "'");
}

Blame blame_of(const json& object) {
  return named(
      object, "blame",
      {Blame::kNone, Blame::kCandidate, Blame::kReference, Blame::kBoth, Blame::kUndecided});
}

trace::What what_of(const json& object) {
  const auto phase = trace::phase_from_name(text(object, "phase"));
  if (!phase) refuse("'phase' is '" + text(object, "phase") + "'");
  return {get<int64_t>(object, "step"), text(object, "site"), *phase, text(object, "role"),
          get<int32_t>(object, "occurrence")};
}

oracle::Finding finding_of(const json& object) {
  using oracle::Decider;
  oracle::Finding finding;
  finding.rule = text(object, "rule");
  finding.severity =
      named(object, "severity", {oracle::Severity::kProven, oracle::Severity::kSuspicious});
  const bool reference = text(object, "side") == "reference";
  finding.side = reference ? oracle::Side::kReference : oracle::Side::kCandidate;
  finding.what = what_of(object);
  finding.microbatch = get<int32_t>(object, "microbatch");
  finding.ranks = get<std::vector<int32_t>>(object, "ranks");
  finding.decider = named(object, "decider",
                          {Decider::kNone, Decider::kItself, Decider::kRecomputation,
                           Decider::kReference, Decider::kMajority});
  finding.group = text(object, "group");
  finding.measured = number(object, "measured");
  finding.allowed = number(object, "allowed");
  finding.unit = text(object, "unit");
  finding.evidence = text(object, "evidence");
  for (const json& ref : field(object, "records")) {
    finding.records.push_back({get<int32_t>(ref, "rank"), get<int64_t>(ref, "sequence")});
  }
  return finding;
}

Origin origin_of(const json& object) {
  Origin origin;
  origin.finding = finding_of(field(object, "finding"));
  for (const json& each : field(object, "also")) origin.also.push_back(finding_of(each));
  origin.inputs = named(object, "inputs", {Inputs::kWithin, Inputs::kFirstSeen, Inputs::kInterval});
  origin.follows_from_operands = get<bool>(object, "follows_from_operands");
  origin.candidates = texts(object, "candidates");
  origin.unjudged_between = texts(object, "unjudged_between");
  origin.downstream_of = text(object, "downstream_of");
  origin.predicted = text(object, "predicted");
  origin.signature = text(object, "signature");
  origin.signature_detail = text(object, "signature_detail");
  origin.lineage = text(object, "lineage");
  origin.lineage_detail = text(object, "lineage_detail");
  origin.growth = text(object, "growth");
  origin.vanished = texts(object, "vanished");
  origin.passed_on = get<int64_t>(object, "passed_on");
  origin.blame = blame_of(object);
  origin.hosts = texts(object, "hosts");
  origin.hypothesis = text(object, "hypothesis");
  return origin;
}

Coverage coverage_of(const json& object) {
  Coverage coverage;
  coverage.sites_fired = get<int64_t>(object, "sites_fired");
  coverage.sites_expected = get<int64_t>(object, "sites_expected");
  coverage.collectives_matched = get<int64_t>(object, "collectives_matched");
  coverage.collectives = get<int64_t>(object, "collectives");
  coverage.records_compared = get<int64_t>(object, "records_compared");
  coverage.records = get<int64_t>(object, "records");
  coverage.replayed = get<int64_t>(object, "replayed");
  coverage.unknown_placements = get<int64_t>(object, "unknown_placements");
  coverage.unseen_regions = get<int64_t>(object, "unseen_regions");
  coverage.steps = get<std::vector<int64_t>>(object, "steps");
  coverage.ranks_present = get<int32_t>(object, "ranks_present");
  coverage.ranks_expected = get<int32_t>(object, "ranks_expected");
  coverage.incomplete = texts(object, "incomplete");
  coverage.missing = texts(object, "missing");
  coverage.extra = texts(object, "extra");
  coverage.unjudged = texts(object, "unjudged");
  coverage.not_replayed = texts(object, "not_replayed");
  coverage.dropped = texts(object, "dropped");
  coverage.not_captured = texts(object, "not_captured");
  return coverage;
}

Measurement measurement_of(const json& object) {
  return {what_of(object),          text(object, "rule"),       text(object, "unit"),
          text(object, "standing"), number(object, "measured"), number(object, "allowed")};
}

Loss loss_of(const json& object) {
  Loss loss{get<int64_t>(object, "step"),
            text(object, "site"),
            text(object, "role"),
            number(object, "candidate"),
            {}};
  if (object.contains("reference")) loss.reference = number(object, "reference");
  return loss;
}

Cause cause_of(const json& object) {
  return {text(object, "statement"), texts(object, "toggles"), get<bool>(object, "confirmed"),
          texts(object, "sufficient"), texts(object, "undecided")};
}

void read_configurations(Verdict& verdict, const json& object) {
  for (const json& each : field(object, "differences")) {
    verdict.differences.push_back(
        {text(each, "key"), text(each, "candidate"), text(each, "reference")});
  }
  for (const json& each : field(object, "semantic_changes")) {
    verdict.semantic_changes.push_back({text(each, "key"), text(each, "candidate"),
                                        text(each, "reference"), texts(each, "sites"),
                                        get<bool>(each, "intended")});
  }
  if (object.contains("thresholds")) {
    for (const auto& [key, value] : object["thresholds"].items()) {
      verdict.thresholds[key] = value.get<double>();
    }
  }
}

Verdict read(const json& object) {
  Verdict verdict;
  verdict.kind = named(object, "verdict",
                       {VerdictKind::kClean, VerdictKind::kNonFinite, VerdictKind::kDivergence,
                        VerdictKind::kIncomplete, VerdictKind::kUnresolved, VerdictKind::kFails,
                        VerdictKind::kPasses});
  verdict.reason = text(object, "reason");
  for (const json& each : field(object, "origins")) verdict.origins.push_back(origin_of(each));
  verdict.coverage = coverage_of(field(object, "coverage"));
  read_configurations(verdict, object);
  verdict.events = texts(object, "events");
  verdict.thresholds_sha256 = text(object, "thresholds_sha256");
  verdict.exploratory = get<bool>(object, "exploratory");
  verdict.controls_passed = get<bool>(object, "controls_passed");
  verdict.candidate = text(object, "candidate");
  verdict.reference = text(object, "reference");
  verdict.next_command = text(object, "next_command");
  if (object.contains("cause")) verdict.cause = cause_of(object["cause"]);
  for (const json& each : object.value("measurements", json::array())) {
    verdict.measurements.push_back(measurement_of(each));
  }
  for (const json& each : object.value("losses", json::array())) {
    verdict.losses.push_back(loss_of(each));
  }
  return verdict;
}

}  // namespace

Verdict verdict_from_json(const json& object) {
  if (!object.is_object()) refuse("it is no JSON object");
  try {
    const int schema = get<int>(object, "schema");
    if (schema != kSchemaVersion) {
      refuse("its schema is " + std::to_string(schema) + ", and this program reads " +
             std::to_string(kSchemaVersion));
    }
    return read(object);
  } catch (const json::exception& error) {
    refuse(error.what());
  }
}

}  // namespace nanhunt::compare
