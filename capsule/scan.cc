// SPDX-License-Identifier: Apache-2.0
#include "capsule/scan.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "capsule/verify.h"

namespace nanhunt::capsule {
namespace {

using trace::Record;

class Scan {
 public:
  explicit Scan(const Capsule& capsule) : capsule_(capsule) {}

  Report run(bool read_values) {
    report_.folder = capsule_.folder().string();
    report_.step = capsule_.step().step;
    report_.ranks = capsule_.reader().world_size();
    report_.faults = capsule_.faults();
    report_.values_read = read_values;
    if (read_values)
      std::ranges::move(damaged_values(capsule_), std::back_inserter(report_.faults));
    for (const auto& progress : capsule_.step().progress) report_.bytes += progress.bytes;
    for (const Entry& entry : capsule_.entries()) {
      ++report_.kinds[std::string(facts_of(kind_of(entry.site, entry.role)).name)];
      one(entry);
    }
    for (const KindFacts& facts : all_kinds()) {
      if (facts.expected && !report_.kinds.contains(std::string(facts.name)))
        report_.absent.push_back(std::string(facts.name) + " (" + std::string(facts.lost) + ")");
    }
    std::ranges::stable_sort(report_.findings, std::greater(), &Finding::proven);
    return std::move(report_);
  }

 private:
  const Record& record(int index) const {
    return capsule_.step().records[static_cast<size_t>(index)];
  }

  // One finding for all ranks whose rows pass the test.
  template <class Test>
  void find(const Entry& entry, const std::string& rule, bool proven, const std::string& evidence,
            Test test) {
    Finding finding{rule, proven, name_of(entry), {}, evidence};
    for (const int index : entry.records) {
      if (test(record(index))) finding.ranks.push_back(record(index).where.rank);
    }
    if (!finding.ranks.empty()) report_.findings.push_back(std::move(finding));
  }

  // Every piece is zero: a shard may be by chance, a whole tensor hardly is.
  bool all_zero(const Entry& entry) const {
    return std::ranges::all_of(entry.records, [&](int index) {
      const auto& statistics = record(index).statistics;
      return statistics.count > 1 && statistics.zero == statistics.count;
    });
  }

  // 0 where nobody says.
  bool steps_were_made() const {
    return std::ranges::any_of(capsule_.entries(), [&](const Entry& entry) {
      return kind_of(entry.site, entry.role) == Kind::kOptimizerStep &&
             record(entry.records.front()).statistics.max > 0;
    });
  }

  void one(const Entry& entry) {
    const Kind kind = kind_of(entry.site, entry.role);
    find(entry, "non_finite", true, "NaN or Inf", [](const Record& record) {
      return trace::is_floating(record.storage) && trace::non_finite_elements(record) > 0;
    });
    if (entry.role == "exp_avg_sq") {
      find(entry, "negative_second_moment", true, "a mean of squares is below 0",
           [](const Record& record) { return record.statistics.min < 0; });
    }
    const bool weight = kind == Kind::kParameters && entry.site.ends_with(".weight");
    if ((weight || kind == Kind::kMasters) && all_zero(entry))
      find(entry, "all_zero", false, "every element is 0", [](const Record&) { return true; });
    if (kind == Kind::kMoments && steps_were_made() && all_zero(entry)) {
      find(entry, "zero_moment", false,
           "every element is 0 after optimizer steps: no gradient ever reached it, or it was reset",
           [](const Record&) { return true; });
    }
  }

  const Capsule& capsule_;
  Report report_;
};

std::string list_of(const std::vector<int32_t>& ranks) {
  std::string text;
  for (const int32_t rank : ranks) text += (text.empty() ? "" : " ") + std::to_string(rank);
  return text;
}

}  // namespace

Report scan(const Capsule& capsule, bool read_values) {
  return Scan(capsule).run(read_values);
}

int exit_status(const Report& report) {
  if (!report.findings.empty()) return 1;
  return report.faults.empty() ? 0 : 3;
}

nlohmann::json to_json(const Report& report) {
  nlohmann::json faults = nlohmann::json::array(), findings = nlohmann::json::array();
  for (const Fault& fault : report.faults)
    faults.push_back({{"what", fault.what}, {"breaks", name_of(fault.breaks)}});
  for (const Finding& finding : report.findings) {
    findings.push_back({{"rule", finding.rule},
                        {"proven", finding.proven},
                        {"tensor", finding.tensor},
                        {"ranks", finding.ranks},
                        {"evidence", finding.evidence}});
  }
  return {{"schema", "nanhunt.capsule.1"}, {"capsule", report.folder}, {"step", report.step},
          {"ranks", report.ranks},         {"bytes", report.bytes},    {"kinds", report.kinds},
          {"absent", report.absent},       {"faults", faults},         {"findings", findings},
          {"values_read", report.values_read}};
}

std::string to_text(const Report& report) {
  std::string text = "Capsule: " + report.folder + ", state that step " +
                     std::to_string(report.step) + " starts from, " + std::to_string(report.ranks) +
                     " ranks, " + std::to_string(report.bytes) + " bytes\n";
  for (const auto& [kind, count] : report.kinds)
    text += "  " + std::to_string(count) + " " + kind + "\n";
  for (const auto& absent : report.absent) text += "  none of: " + absent + "\n";
  text += report.values_read ? "  every value was held against its digest\n"
                             : "  values were not read: a changed byte in them would not be told\n";
  for (const Fault& fault : report.faults) text += "Not whole: " + fault.what + "\n";
  for (const Finding& finding : report.findings) {
    text += "Finding: " + finding.tensor + ", ranks " + list_of(finding.ranks) + ": " +
            finding.rule + (finding.proven ? " (proven): " : " (suspicious): ") + finding.evidence +
            "\n";
  }
  const char* verdict = !report.findings.empty() ? "finding"
                        : report.faults.empty()  ? "clean"
                                                 : "incomplete";
  return text + "Verdict: " + verdict + "\n";
}

}  // namespace nanhunt::capsule
