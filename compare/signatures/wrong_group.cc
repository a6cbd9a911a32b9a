// SPDX-License-Identifier: Apache-2.0
// wrong_group: a collective ran over other ranks than its operands' placement says (rule
// collective_group).
#include "compare/signatures/signature.h"

namespace nanhunt::compare {

std::optional<Signature> wrong_group(const SignatureInput& input) {
  const Origin& origin = input.draft.origin;
  if (origin.finding.rule == "collective_group") {
    return Signature{"wrong_group", origin.finding.evidence};
  }
  for (const auto& finding : origin.also) {
    if (finding.rule == "collective_group") return Signature{"wrong_group", finding.evidence};
  }
  return std::nullopt;
}

}  // namespace nanhunt::compare
