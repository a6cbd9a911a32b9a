// SPDX-License-Identifier: Apache-2.0
#include "bisect/search.h"

#include <algorithm>

#include "trace/check.h"

namespace nanhunt::bisect {
namespace {

// How much farther than its distance an untestable item seems.
constexpr size_t kClearance = 4;

struct Bounds {
  std::optional<size_t> last_good, first_bad;
};

Bounds bounds_of(const ItemStates& states) {
  Bounds bounds;
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i] == ItemState::kGood) bounds.last_good = i;
    if (states[i] == ItemState::kBad) {
      bounds.first_bad = i;
      break;
    }
  }
  return bounds;
}

bool ends_stand(const ItemStates& states) {
  return states.front() == ItemState::kGood && states.back() == ItemState::kBad;
}

// Distance of each item between the bounds to the nearest untestable one between them.
std::vector<size_t> clearances(const ItemStates& states, size_t good, size_t bad) {
  const size_t far = states.size();
  std::vector<size_t> distances(bad - good + 1, far);
  size_t distance = far;
  for (size_t i = good + 1; i < bad; ++i) {
    distance = states[i] == ItemState::kUntestable ? 0 : std::min(far, distance + 1);
    distances[i - good] = distance;
  }
  distance = far;
  for (size_t i = bad - 1; i > good; --i) {
    distance = states[i] == ItemState::kUntestable ? 0 : std::min(far, distance + 1);
    distances[i - good] = std::min(distances[i - good], distance);
  }
  return distances;
}

std::optional<size_t> between(const ItemStates& states, size_t good, size_t bad) {
  const std::vector<size_t> clearance = clearances(states, good, bad);
  std::optional<size_t> best;
  size_t best_distance = 0;
  for (size_t i = good + 1; i < bad; ++i) {
    if (states[i] != ItemState::kUntried) continue;
    const size_t distance = std::min({i - good, bad - i, kClearance * clearance[i - good]});
    if (!best || distance > best_distance) best = i, best_distance = distance;
  }
  return best;
}

AnswerKind kind_of_ends(const ItemStates& states) {
  const bool first_bad = states.front() == ItemState::kBad;
  const bool last_good = states.back() == ItemState::kGood;
  if (first_bad && last_good) return AnswerKind::kReversed;
  if (first_bad) return AnswerKind::kFirstIsBad;
  if (last_good) return AnswerKind::kLastIsGood;
  return AnswerKind::kEndUntestable;
}

}  // namespace

std::vector<size_t> survey_of(size_t items, size_t count) {
  NANHUNT_CHECK(items >= 2);
  count = std::min(count, items - 2);
  std::vector<size_t> places;
  for (size_t i = 1; i <= count; ++i) places.push_back(i * (items - 1) / (count + 1));
  return places;
}

std::optional<size_t> next_item(const ItemStates& states, const std::vector<size_t>& survey) {
  NANHUNT_CHECK(states.size() >= 2);
  for (const size_t end : {size_t{0}, states.size() - 1}) {
    if (states[end] == ItemState::kUntried) return end;
  }
  if (!ends_stand(states)) return std::nullopt;
  for (const size_t place : survey) {
    if (states[place] == ItemState::kUntried) return place;
  }
  const Bounds bounds = bounds_of(states);
  return between(states, *bounds.last_good, *bounds.first_bad);
}

Answer answer_of(const ItemStates& states) {
  NANHUNT_CHECK(states.size() >= 2);
  const Bounds bounds = bounds_of(states);
  Answer answer;
  answer.last_good = bounds.last_good;
  answer.first_bad = bounds.first_bad;
  for (size_t i = bounds.first_bad.value_or(states.size()); i < states.size(); ++i) {
    if (states[i] == ItemState::kGood) answer.good_after_bad.push_back(i);
  }
  if (!ends_stand(states)) {
    answer.kind = kind_of_ends(states);
    return answer;
  }
  for (size_t i = *bounds.last_good + 1; i <= *bounds.first_bad; ++i) {
    answer.candidates.push_back(i);
  }
  answer.kind = answer.candidates.size() == 1 ? AnswerKind::kFound : AnswerKind::kCandidates;
  return answer;
}

}  // namespace nanhunt::bisect
