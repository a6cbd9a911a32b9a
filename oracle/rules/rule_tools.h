// SPDX-License-Identifier: Apache-2.0
// What several rules need: findings about one record, scalars, and the operands of a collective.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "oracle/mesh.h"
#include "oracle/rule.h"

namespace nanhunt::oracle {

inline const trace::Record& record_at(const trace::Step& step, int index) {
  return step.records[static_cast<size_t>(index)];
}

// There is a record, and its placement is known.
bool is_placed(const trace::Record* record);
// A finding about that record alone.
Finding finding_about(const trace::Record& record, std::string rule, Severity severity);
// Adds the record's rank and reference to a finding about the same tensor.
void add_record(Finding& finding, const trace::Record& record);

// The value of a scalar record; NaN or Inf as it was, nullopt when it is no scalar.
std::optional<double> scalar_of(const trace::Record& record);
// A number out of the record's JSON attributes.
std::optional<double> attribute(const trace::Record& record, const std::string& name);
// Whether the record says so: an attribute that is there and not false.
bool says(const trace::Record& record, const std::string& name);
// Which of the gradient norms of its step the record belongs to: the attribute `norm` of gradients,
// norms and clip factors; 0 where a program takes one alone.
int64_t norm_number(const trace::Record& record);

// Worst case of n roundings one after another: n u / (1 - n u) (Higham, Accuracy and Stability of
// Numerical Algorithms, section 3.1); Inf when n u >= 1.
double gamma(double n, double unit_roundoff);

// One collective as all its members logged it.
struct Meeting {
  std::vector<int>
      entries;  // indices into step.collectives, in group order; one per member that logged it
  bool whole = false;  // every member of the group logged it
};
std::vector<Meeting> meetings(const trace::Step& step);

// First record of that collective entry's operands (or results) number `position`, or nullptr.
const trace::Record* operand(const trace::Step& step, const trace::Collective& entry,
                             size_t position);
const trace::Record* result(const trace::Step& step, const trace::Collective& entry,
                            size_t position);

// "%.3g"
std::string short_number(double value);

}  // namespace nanhunt::oracle
