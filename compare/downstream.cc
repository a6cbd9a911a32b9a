// SPDX-License-Identifier: Apache-2.0
#include "compare/downstream.h"

#include <algorithm>
#include <numeric>

namespace nanhunt::compare {

std::vector<int> upstream_places(const SideStep& side,
                                 const std::vector<std::vector<int>>& places) {
  const auto none = static_cast<int>(places.size());
  const size_t count = side.step->records.size();
  std::vector<int> own(count, none), upstream(count, none);
  for (int place = none; place-- > 0;) {
    for (const int record : places[static_cast<size_t>(place)])
      own[static_cast<size_t>(record)] = place;
  }
  std::vector<int> sorted(count);
  std::iota(sorted.begin(), sorted.end(), 0);
  std::ranges::sort(sorted, {}, [&](int record) { return side.order->position(record); });
  for (const int record : sorted) {
    int& first = upstream[static_cast<size_t>(record)];
    for (const int input : side.flow->inputs(record)) {
      const auto i = static_cast<size_t>(input);
      first = std::min({first, own[i], upstream[i]});
    }
  }
  std::vector<int> result;
  for (int place = 0; place < none; ++place) {
    int first = none;
    for (const int record : places[static_cast<size_t>(place)])
      first = std::min(first, upstream[static_cast<size_t>(record)]);
    result.push_back(first < place ? first : -1);
  }
  return result;
}

}  // namespace nanhunt::compare
