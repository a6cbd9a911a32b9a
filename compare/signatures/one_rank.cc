// SPDX-License-Identifier: Apache-2.0
// one_rank: of several ranks that hold a piece or a copy, exactly one is wrong, and something told
// so.
#include <set>

#include "compare/signatures/signature.h"

namespace nanhunt::compare {

std::optional<Signature> one_rank(const SignatureInput& input) {
  const auto& finding = input.draft.origin.finding;
  if (!finding.which_known() || finding.ranks.size() != 1) return std::nullopt;
  std::set<int32_t> holders;
  const auto found = input.side.step->by_what().find(finding.what);
  if (found == input.side.step->by_what().end()) return std::nullopt;
  for (const int index : found->second) holders.insert(input.side.record(index).where.rank);
  if (holders.size() < 2) return std::nullopt;
  return Signature{"one_rank", "rank " + std::to_string(finding.ranks.front()) + " of " +
                                   std::to_string(holders.size()) + " that hold it"};
}

}  // namespace nanhunt::compare
