// SPDX-License-Identifier: Apache-2.0
#include "ablate/nearest.h"

#include <algorithm>
#include <numeric>

namespace nanhunt::ablate {
namespace {

size_t edits(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(const std::string& name, const std::vector<std::string>& known) {
  std::string best;
  size_t fewest = std::max<size_t>(2, name.size() / 2) + 1;
  for (const std::string& candidate : known) {
    const size_t distance = edits(name, candidate);
    if (distance < fewest) {
      fewest = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(const std::string& name, const std::vector<std::string>& known) {
  const std::string best = nearest(name, known);
  return best.empty() ? "" : "; did you mean '" + best + "'?";
}

}  // namespace nanhunt::ablate
