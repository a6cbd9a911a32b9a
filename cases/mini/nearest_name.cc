// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/nearest_name.h"

#include <algorithm>
#include <numeric>

namespace nanhunt::mini {
namespace {

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] != b[j] ? 1 : 0);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_name(const std::string& name, const std::vector<std::string>& known) {
  const auto nearest = std::min_element(
      known.begin(), known.end(), [&](const std::string& left, const std::string& right) {
        return edit_distance(name, left) < edit_distance(name, right);
      });
  return nearest == known.end() ? "" : *nearest;
}

}  // namespace nanhunt::mini
