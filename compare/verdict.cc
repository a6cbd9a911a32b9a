// SPDX-License-Identifier: Apache-2.0
#include "compare/verdict.h"

#include <cmath>
#include <limits>

namespace nanhunt::compare {

double excess(const Measurement& measurement) {
  if (measurement.measured == 0) return 0;
  const double ratio = measurement.measured / measurement.allowed;
  return std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
}

Blame Verdict::blame() const {
  return origins.empty() ? Blame::kNone : origins.front().blame;
}

std::string_view name_of(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kClean:
      return "clean";
    case VerdictKind::kNonFinite:
      return "non-finite";
    case VerdictKind::kDivergence:
      return "divergence";
    case VerdictKind::kIncomplete:
      return "incomplete";
    case VerdictKind::kUnresolved:
      return "unresolved";
    case VerdictKind::kFails:
      return "fails";
    case VerdictKind::kPasses:
      return "passes";
  }
  return "";
}

std::string_view name_of(Blame blame) {
  switch (blame) {
    case Blame::kNone:
      return "none";
    case Blame::kCandidate:
      return "candidate";
    case Blame::kReference:
      return "reference";
    case Blame::kBoth:
      return "both";
    case Blame::kUndecided:
      return "undecided";
  }
  return "";
}

std::string_view name_of(Inputs inputs) {
  switch (inputs) {
    case Inputs::kWithin:
      return "within";
    case Inputs::kFirstSeen:
      return "first_seen";
    case Inputs::kInterval:
      return "interval";
  }
  return "";
}

int exit_status(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kClean:
    case VerdictKind::kPasses:
      return 0;
    case VerdictKind::kNonFinite:
    case VerdictKind::kDivergence:
    case VerdictKind::kFails:
      return 1;
    case VerdictKind::kIncomplete:
      return 3;
    case VerdictKind::kUnresolved:
      return 125;
  }
  return 125;
}

int exit_status(const Verdict& verdict) {
  return exit_status(verdict.kind);
}

}  // namespace nanhunt::compare
