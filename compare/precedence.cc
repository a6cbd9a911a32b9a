// SPDX-License-Identifier: Apache-2.0
#include "compare/precedence.h"

#include <algorithm>

namespace nanhunt::compare {
namespace {

// Pairwise comparison is quadratic; beyond this many the linear extension alone decides.
constexpr size_t kPairwise = 512;
constexpr size_t kRecords = 16;  // of one failure that are looked at

bool any_before(const Order& order, const Place& a, const Place& b) {
  for (const int one : a.records) {
    for (const int other : b.records) {
      if (order.before(one, other)) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<int> in_causal_order(const Order& order, std::vector<Place> places) {
  for (auto& place : places) {
    std::ranges::sort(place.records, [&](int a, int b) { return order.tie_less(a, b); });
    if (place.records.size() > kRecords) place.records.resize(kRecords);
  }
  std::ranges::sort(places, [&](const Place& a, const Place& b) {
    return places.size() > kPairwise
               ? order.position(a.records.front()) < order.position(b.records.front())
               : order.tie_less(a.records.front(), b.records.front());
  });
  std::vector<int> result;
  if (places.size() > kPairwise) {
    for (const auto& place : places) result.push_back(place.id);
    return result;
  }
  const size_t count = places.size();
  std::vector<int> waiting(count, 0);
  std::vector<std::vector<size_t>> next(count);
  for (size_t a = 0; a < count; ++a) {
    for (size_t b = a + 1; b < count; ++b) {
      const bool forth = any_before(order, places[a], places[b]);
      const bool back = any_before(order, places[b], places[a]);
      if (forth == back) continue;
      next[forth ? a : b].push_back(forth ? b : a);
      ++waiting[forth ? b : a];
    }
  }
  std::vector<bool> done(count, false);
  while (result.size() < count) {
    size_t chosen = count;
    for (size_t i = 0; i < count && chosen == count; ++i) {
      if (!done[i] && waiting[i] == 0) chosen = i;
    }
    for (size_t i = 0; i < count && chosen == count; ++i) {
      if (!done[i]) chosen = i;  // several records may order two places both ways round a third
    }
    done[chosen] = true;
    result.push_back(places[chosen].id);
    for (const size_t follower : next[chosen]) --waiting[follower];
  }
  return result;
}

}  // namespace nanhunt::compare
