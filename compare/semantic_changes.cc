// SPDX-License-Identifier: Apache-2.0
#include "compare/semantic_changes.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "compare/numbers.h"
#include "compare/origin_walk.h"
#include "compare/reference_findings.h"

namespace nanhunt::compare {
namespace {

using trace::Phase;

// Attributes that are part of the formula, whatever the layout. Not: scales of a quantiser, which
// follow from values, and sizes.
constexpr std::array kKeys = {"eps",         "tanh", "p",           "causal",
                              "rotary_base", "dim",  "padding_idx", "denominator"};

// By site and "op.attribute": the values that the ranks and microbatches of a run have there.
using Attributes = std::map<std::pair<std::string, std::string>, std::set<std::string>>;

bool says_formula(const trace::Record& record) {
  const bool forward = record.what.phase == Phase::kForward || record.what.phase == Phase::kLoss;
  return forward && !record.op.empty() && record.what.role != "param" &&
         !trace::is_fp8(record.storage);
}

// One name for the forms of one op.
std::string family(const std::string& op) {
  return op.ends_with("_attention") ? "attention" : op;
}

Attributes attributes_of(const SideStep& side) {
  Attributes attributes;
  for (const auto& record : side.step->records) {
    if (!says_formula(record)) continue;
    const auto json = nlohmann::json::parse(record.attributes, nullptr, false);
    for (const char* key : kKeys) {
      if (json.is_object() && json.contains(key))
        attributes[{record.what.site, family(record.op) + "." + key}].insert(json[key].dump());
    }
    // What one program writes down and another does not is no difference; of GELU's form the absent
    // flag is the other form.
    if (record.op == "gelu" && !(json.is_object() && json.contains("tanh")))
      attributes[{record.what.site, "gelu.tanh"}].insert("false");
    if (family(record.op) == "attention" && json.is_object() && json.contains("scale"))
      attributes[{record.what.site, "attention.scale"}].insert(json["scale"].dump());
  }
  return attributes;
}

std::string joined(const std::set<std::string>& values) {
  return join({values.begin(), values.end()}, " ");
}

}  // namespace

std::vector<SemanticChange> predict_changes(const SideStep& candidate, const SideStep& reference) {
  const Attributes mine = attributes_of(candidate), others = attributes_of(reference);
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<std::string>> sites;
  for (const auto& [place, values] : mine) {
    const auto other = others.find(place);
    if (other == others.end() || other->second == values) continue;
    sites[{place.second, joined(values), joined(other->second)}].push_back(place.first);
  }
  std::vector<SemanticChange> changes;
  for (auto& [told, where] : sites) {
    const auto& [key, a, b] = told;
    changes.push_back({key, a, b, std::move(where)});
  }
  return changes;
}

std::string predicted_at(const std::vector<SemanticChange>& changes, const trace::What& what) {
  for (const SemanticChange& change : changes) {
    if (std::ranges::find(change.sites, what.site) != change.sites.end()) return change.key;
  }
  return "";
}

IntendedChanges::IntendedChanges(const std::vector<SemanticChange>& changes) {
  for (const SemanticChange& change : changes) {
    if (change.intended) sites_.insert(change.sites.begin(), change.sites.end());
  }
}

int64_t IntendedChanges::take_out(SideStep& candidate) {
  if (sites_.empty()) return 0;
  const auto& records = candidate.step->records;
  std::vector<bool> out(records.size(), false);
  for (size_t i = 0; i < records.size(); ++i) {
    const auto& record = records[i];
    out[i] = sites_.contains(record.what.site) ||
             (is_carried_state(record) && updated_.contains({record.where.rank, record.what.site}));
  }
  // Results of collectives may stand before their operands: until nothing is added.
  int64_t before = -1, count = 0;
  while (count != before) {
    before = count;
    count = 0;
    for (size_t i = 0; i < records.size(); ++i) {
      const auto& inputs = candidate.flow->inputs(static_cast<int>(i));
      out[i] = out[i] || std::ranges::any_of(inputs, [&](int input) {
                 return bool{out[static_cast<size_t>(input)]};
               });
      count += out[i];
    }
  }
  auto findings = std::move(candidate.findings);
  candidate.findings.clear();
  for (auto& list : candidate.findings_of) list.clear();
  for (auto& finding : findings) {
    const bool excused = needs_reference(finding.rule) &&
                         std::ranges::any_of(finding.records, [&](const oracle::RecordRef& ref) {
                           const int index = candidate.find(ref);
                           return index >= 0 && out[static_cast<size_t>(index)];
                         });
    if (!excused) candidate.add_finding(std::move(finding));
  }
  for (size_t i = 0; i < records.size(); ++i) {
    if (!out[i]) continue;
    candidate.judged[i] = {};
    const auto phase = records[i].what.phase;
    if (records[i].what.role == "param" && (phase == Phase::kUpdate || phase == Phase::kParamSync))
      updated_.insert({records[i].where.rank, records[i].what.site});
  }
  return count;
}

}  // namespace nanhunt::compare
