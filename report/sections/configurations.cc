// SPDX-License-Identifier: Apache-2.0
#include "report/sections/sections.h"

namespace nanhunt::report {
namespace {

using compare::Verdict;

Data three(const std::string& key, const std::string& candidate, const std::string& reference) {
  Data row = object();
  row.set("key", key);
  row.set("candidate", candidate);
  row.set("reference", reference);
  return row;
}

}  // namespace

Data configurations(const Verdict& verdict) {
  Data result = object();
  if (verdict.differences.empty() && verdict.semantic_changes.empty()) {
    result.set("none", verdict.reference.empty() ? "There is no reference to differ from."
                                                 : "They do not differ in what was recorded.");
    return result;
  }
  if (!verdict.differences.empty()) {
    result.set("differences", table(verdict.differences, kMostLines, [](const auto& each) {
                 return three(each.key, each.candidate, each.reference);
               }));
  }
  if (!verdict.semantic_changes.empty()) {
    result.set("changes", table(verdict.semantic_changes, kMostLines, [](const auto& each) {
                 Data row = three(each.key, each.candidate, each.reference);
                 row.set("sites", std::to_string(each.sites.size()) +
                                      (each.sites.empty() ? "" : ", first " + each.sites.front()) +
                                      (each.intended ? "; intended" : ""));
                 return row;
               }));
  }
  return result;
}

}  // namespace nanhunt::report
