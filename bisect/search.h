// SPDX-License-Identifier: Apache-2.0
// The search for the first bad item of an ordered list, as pure functions of what is known of each
// item: which one to try next, and what the answer is when none is left to try. So a search that
// was stopped goes on from its known items alone.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace nanhunt::bisect {

enum class ItemState {
  kUntried,
  kGood,
  kBad,
  kUntestable,  // tried, and it cannot be told
};
using ItemStates = std::vector<ItemState>;  // in the order of the list, at least two

enum class AnswerKind {
  kFound,         // last_good and first_bad are neighbours
  kCandidates,    // untestable items lie between them
  kFirstIsBad,    // wrong ends
  kLastIsGood,    // wrong ends
  kReversed,      // wrong ends: the first is bad and the last is good
  kEndUntestable  // nothing is known of an end
};

struct Answer {
  AnswerKind kind = AnswerKind::kFound;
  // The first item known to be bad, and the last one before it known to be good.
  std::optional<size_t> last_good, first_bad;
  // The first bad item is one of these; the last of them is first_bad, the others are untestable,
  // or untried when the search was stopped. Empty when ends are wrong or unknown.
  std::vector<size_t> candidates;
  std::vector<size_t> good_after_bad;  // good though first_bad lies before them: not monotonic
};

// Items tried after the ends and before the search: `count` of them, evenly between the ends. They
// make a good after a bad visible, which halving alone never meets.
std::vector<size_t> survey_of(size_t items, size_t count);

// The item to try next: both ends, the survey, then between the last good and the first bad item
// the one farthest from both. Of items that cannot be tested it keeps a distance, as they come in
// blocks: the distance to the nearest of them counts fourfold. Nothing when the answer stands.
std::optional<size_t> next_item(const ItemStates& states, const std::vector<size_t>& survey);

Answer answer_of(const ItemStates& states);

}  // namespace nanhunt::bisect
