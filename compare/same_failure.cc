// SPDX-License-Identifier: Apache-2.0
#include "compare/judge.h"

namespace nanhunt::compare {
namespace {

bool is_failure(const Verdict& verdict) {
  return verdict.kind == VerdictKind::kNonFinite || verdict.kind == VerdictKind::kDivergence;
}

// Parameters belong to their site: a weight's gradient and the site's output are one family.
std::string family_of(const std::string& site) {
  std::string kind = trace::site_kind(site);
  for (const std::string suffix : {".weight", ".bias"}) {
    if (kind.ends_with(suffix)) kind.resize(kind.size() - suffix.size());
  }
  return kind;
}

}  // namespace

// A layout has its own ranks, and phases that others lack (collectives), so neither is asked for. A
// trial may show independent failures before the one that is looked for: any of its origins counts.
bool same_failure(const Verdict& a, const Verdict& b) {
  if (!is_failure(a) || a.kind != b.kind || a.origins.empty()) return false;
  const auto& wanted = a.origins.front();
  for (const auto& origin : b.origins) {
    if (origin.finding.side == wanted.finding.side &&
        family_of(origin.finding.what.site) == family_of(wanted.finding.what.site)) {
      return true;
    }
  }
  return false;
}

}  // namespace nanhunt::compare
