// SPDX-License-Identifier: Apache-2.0
#include "trace/record.h"

#include <algorithm>

namespace nanhunt::trace {

std::string describe(const What& what) {
  std::string text = "step " + std::to_string(what.step) + ' ' + what.site + ' ' +
                     std::string(name_of(what.phase)) + ' ' + what.role;
  if (what.occurrence > 0) text += " (occurrence " + std::to_string(what.occurrence) + ')';
  return text;
}

uint64_t non_finite_elements(const Record& record) {
  const Statistics& statistics = record.statistics;
  return record.what.role == "mask" ? statistics.nan + statistics.pos_inf : statistics.non_finite();
}

// A number is a whole component: "linear_fc1" and "linear_fc2" are different kinds of site.
std::string site_kind(const std::string& site) {
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  std::string kind;
  for (size_t start = 0; start <= site.size();) {
    const size_t end = std::min(site.find('.', start), site.size());
    const std::string part = site.substr(start, end - start);
    if (start > 0) kind += '.';
    kind += !part.empty() && std::all_of(part.begin(), part.end(), is_digit) ? "*" : part;
    start = end + 1;
  }
  return kind;
}

}  // namespace nanhunt::trace
