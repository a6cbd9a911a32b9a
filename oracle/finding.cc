// SPDX-License-Identifier: Apache-2.0
#include "oracle/finding.h"

namespace nanhunt::oracle {

std::string_view name_of(Severity severity) {
  return severity == Severity::kProven ? "proven" : "suspicious";
}

std::string_view name_of(Decider decider) {
  switch (decider) {
    case Decider::kNone:
      return "none";
    case Decider::kItself:
      return "itself";
    case Decider::kRecomputation:
      return "recomputation";
    case Decider::kReference:
      return "reference";
    case Decider::kMajority:
      return "majority";
  }
  return "none";
}

}  // namespace nanhunt::oracle
