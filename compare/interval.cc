// SPDX-License-Identifier: Apache-2.0
#include "compare/interval.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "compare/numbers.h"

namespace nanhunt::compare {

Interval interval_of(const SideStep& side, OriginWalk& walk, const std::vector<int>& records,
                     const std::string& rule) {
  struct Member {
    std::vector<int> records;
    int position = 0;
    double error = 0, growth = 1, fresh = 0;
  };
  std::map<int, Member> members;  // by logical tensor
  std::vector<std::vector<int>> waiting{records};
  while (!waiting.empty()) {
    Member member{std::move(waiting.back())};
    waiting.pop_back();
    const int logical = side.logical_of[static_cast<size_t>(member.records.front())];
    if (members.contains(logical)) continue;
    const Boundary boundary = walk.walk(member.records, rule);
    member.position = side.order->position(member.records.front());
    for (const int record : member.records) {
      member.position = std::min(member.position, side.order->position(record));
      member.error = std::max(member.error, side.judged[static_cast<size_t>(record)].error);
      member.growth = side.judged[static_cast<size_t>(record)].growth;
    }
    const double fresh =
        member.error * member.error - member.growth * member.growth * boundary.squared_error_in;
    member.fresh = fresh > 0 ? std::sqrt(fresh) : 0;
    members.emplace(logical, std::move(member));
    std::map<int, std::vector<int>> next;
    for (const int record : boundary.undecided) {
      next[side.logical_of[static_cast<size_t>(record)]].push_back(record);
    }
    for (auto& [key, list] : next) waiting.push_back(std::move(list));
  }

  std::vector<const Member*> sorted;
  for (const auto& [logical, member] : members) sorted.push_back(&member);
  std::ranges::sort(sorted, {}, [](const Member* member) { return member->position; });
  Interval interval;
  const Member* lead = nullptr;
  for (const Member* member : sorted) {
    if (lead == nullptr || member->fresh > lead->fresh) lead = member;
    interval.candidates.push_back(describe(side.record(member->records.front()).what) +
                                  ": relative norm " + short_number(member->error) +
                                  ", of which fresh " + short_number(member->fresh));
  }
  interval.lead = lead->records;
  return interval;
}

}  // namespace nanhunt::compare
