// SPDX-License-Identifier: Apache-2.0
#include "oracle/rules/rule_tools.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

namespace nanhunt::oracle {

Finding finding_about(const trace::Record& record, std::string rule, Severity severity) {
  Finding finding;
  finding.rule = std::move(rule);
  finding.severity = severity;
  finding.what = record.what;
  finding.microbatch = record.where.microbatch;
  add_record(finding, record);
  return finding;
}

void add_record(Finding& finding, const trace::Record& record) {
  finding.records.push_back({record.where.rank, record.where.sequence});
  const auto at = std::ranges::lower_bound(finding.ranks, record.where.rank);
  if (at == finding.ranks.end() || *at != record.where.rank)
    finding.ranks.insert(at, record.where.rank);
}

std::optional<double> scalar_of(const trace::Record& record) {
  const auto& statistics = record.statistics;
  if (statistics.count != 1) return std::nullopt;
  if (statistics.nan == 1) return std::numeric_limits<double>::quiet_NaN();
  if (statistics.pos_inf == 1) return std::numeric_limits<double>::infinity();
  if (statistics.neg_inf == 1) return -std::numeric_limits<double>::infinity();
  return statistics.sum;
}

std::optional<double> attribute(const trace::Record& record, const std::string& name) {
  const auto json = nlohmann::json::parse(record.attributes, nullptr, false);
  if (!json.is_object() || !json.contains(name) || !json[name].is_number()) return std::nullopt;
  return json[name].get<double>();
}

bool is_placed(const trace::Record* record) {
  return record != nullptr && record->placement && !trace::is_unknown(*record->placement);
}

bool says(const trace::Record& record, const std::string& name) {
  const auto json = nlohmann::json::parse(record.attributes, nullptr, false);
  return json.is_object() && json.contains(name) && json[name] != false;
}

int64_t norm_number(const trace::Record& record) {
  return static_cast<int64_t>(attribute(record, "norm").value_or(0));
}

double gamma(double n, double unit_roundoff) {
  const double nu = n * unit_roundoff;
  return nu < 1 ? nu / (1 - nu) : std::numeric_limits<double>::infinity();
}

std::vector<Meeting> meetings(const trace::Step& step) {
  std::map<std::tuple<std::vector<int32_t>, int64_t, std::string>, Meeting> by_identity;
  for (size_t i = 0; i < step.collectives.size(); ++i) {
    const auto& entry = step.collectives[i];
    by_identity[{entry.group, entry.group_sequence, entry.op}].entries.push_back(
        static_cast<int>(i));
  }
  std::vector<Meeting> result;
  for (auto& [identity, meeting] : by_identity) {
    const auto& group = std::get<0>(identity);
    std::ranges::sort(meeting.entries, {}, [&](int entry) {
      return std::ranges::find(group, step.collectives[static_cast<size_t>(entry)].rank) -
             group.begin();
    });
    meeting.whole = meeting.entries.size() == group.size();
    result.push_back(std::move(meeting));
  }
  return result;
}

namespace {

const trace::Record* at(const trace::Step& step, int32_t rank,
                        const std::vector<int64_t>& sequences, size_t position) {
  if (position >= sequences.size()) return nullptr;
  const int index = step.find(rank, sequences[position]);
  return index < 0 ? nullptr : &record_at(step, index);
}

}  // namespace

const trace::Record* operand(const trace::Step& step, const trace::Collective& entry,
                             size_t position) {
  return at(step, entry.rank, entry.inputs, position);
}

const trace::Record* result(const trace::Step& step, const trace::Collective& entry,
                            size_t position) {
  return at(step, entry.rank, entry.outputs, position);
}

std::string short_number(double value) {
  if (std::isnan(value)) return "NaN";  // its sign tells nothing
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

}  // namespace nanhunt::oracle
