// SPDX-License-Identifier: Apache-2.0
// The report as JSON; schema in docs/checkpoints.md.
#include <nlohmann/json.hpp>

#include "checkpoint/report.h"

namespace nanhunt::checkpoint {
namespace {

using nlohmann::json;

constexpr int kSchemaVersion = 1;

json to_json(const Finding& finding) {
  json peers = json::array();
  for (const Peer& peer : finding.peers) {
    peers.push_back({{"tensor", peer.tensor}, {"file", peer.file}});
  }
  json first;  // null without one
  if (finding.first) {
    first = {{"index", finding.first->index},
             {"place", finding.place},
             {"value", finding.first->number.text},
             {"other_value", finding.other_value}};
  }
  return {{"rule", finding.rule},
          {"severity", oracle::name_of(finding.severity)},
          {"tensor", finding.tensor},
          {"file", finding.file},
          {"ranks", finding.ranks},
          {"dtype", finding.dtype},
          {"shape", finding.shape},
          {"elements", finding.elements},
          {"affected", finding.affected},
          {"first", first},
          {"peers", peers},
          {"evidence", finding.evidence}};
}

json to_json(const Coverage& coverage) {
  return {{"files", coverage.files},         {"tensors", coverage.tensors},
          {"elements", coverage.elements},   {"bytes", coverage.bytes},
          {"dtypes", coverage.dtypes},       {"not_read", coverage.not_read},
          {"not_named", coverage.not_named}, {"notes", coverage.notes},
          {"accepted", coverage.accepted}};
}

}  // namespace

json to_json(const Report& report) {
  json findings = json::array();
  for (const Finding& finding : report.findings) findings.push_back(to_json(finding));
  return {{"schema", kSchemaVersion},
          {"verdict", compare::name_of(report.kind)},
          {"exit_status", compare::exit_status(report.kind)},
          {"reason", report.reason},
          {"checkpoint", report.checkpoint},
          {"before", report.before},
          {"rules", report.rules},
          {"coverage", to_json(report.coverage)},
          {"findings", findings}};
}

}  // namespace nanhunt::checkpoint
