// SPDX-License-Identifier: Apache-2.0
#include "capsule/scan.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "capsule/verify.h"

namespace nanhunt::capsule {
namespace {

class Scan {
 public:
  explicit Scan(const Capsule& capsule) : capsule_(capsule) {}

  Report run(bool read_values) {
    report_.folder = capsule_.folder().string();
    report_.step = capsule_.step().step;
    report_.ranks = capsule_.reader().world_size();
    for (const Fault& fault : capsule_.faults()) {
      if (!fault.contradiction) report_.faults.push_back(fault);
    }
    report_.values_read = read_values;
    if (read_values)
      std::ranges::move(damaged_values(capsule_), std::back_inserter(report_.faults));
    for (const auto& progress : capsule_.step().progress) report_.bytes += progress.bytes;
    for (const Entry& entry : capsule_.entries()) {
      ++report_.kinds[std::string(facts_of(kind_of(entry.site, entry.role)).name)];
    }
    for (const KindFacts& facts : all_kinds()) {
      if (facts.expected && !report_.kinds.contains(std::string(facts.name)))
        report_.absent.push_back(std::string(facts.name) + " (" + std::string(facts.lost) + ")");
    }
    return std::move(report_);
  }

 private:
  const Capsule& capsule_;
  Report report_;
};

}  // namespace

Report scan(const Capsule& capsule, bool read_values) {
  return Scan(capsule).run(read_values);
}

nlohmann::json to_json(const Report& report) {
  nlohmann::json faults = nlohmann::json::array();
  for (const Fault& fault : report.faults)
    faults.push_back({{"what", fault.what}, {"breaks", name_of(fault.breaks)}});
  return {{"schema", "nanhunt.capsule.2"},
          {"capsule", report.folder},
          {"step", report.step},
          {"ranks", report.ranks},
          {"bytes", report.bytes},
          {"kinds", report.kinds},
          {"absent", report.absent},
          {"faults", faults},
          {"values_read", report.values_read}};
}

std::string to_text(const Report& report) {
  std::string text = "Capsule: " + report.folder + ", state that step " +
                     std::to_string(report.step) + " starts from, " + std::to_string(report.ranks) +
                     " ranks, " + std::to_string(report.bytes) + " bytes\n";
  for (const auto& [kind, count] : report.kinds)
    text += "  " + std::to_string(count) + " " + kind + "\n";
  for (const auto& absent : report.absent) text += "  none of: " + absent + "\n";
  text += report.values_read
              ? "  every value was held against its digest\n"
              : "  values were not held against their digests: a changed byte would not be told\n";
  for (const Fault& fault : report.faults) text += "Not whole: " + fault.what + "\n";
  return text;
}

}  // namespace nanhunt::capsule
