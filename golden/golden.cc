// SPDX-License-Identifier: Apache-2.0
#include "golden/golden.h"

#include <algorithm>

namespace nanhunt::golden {

std::string_view name_of(Class value) {
  switch (value) {
    case Class::kBit:
      return "bit";
    case Class::kNoise:
      return "noise";
    case Class::kUnjudged:
      return "unjudged";
  }
  return "";
}

KindKey kind_of(const trace::What& what) {
  return {trace::site_kind(what.site), what.phase, what.role, what.step};
}

int64_t judged_quantities(const Table& table) {
  int64_t judged = 0;
  for (const auto& [key, entry] : table.entries) {
    if (entry.copy_of) continue;
    if (entry.kind == Class::kNoise) judged += 2;
    if (entry.kind == Class::kBit && table.kinds.contains(kind_of(key.what))) ++judged;
  }
  for (const auto& [key, point] : table.curves) judged += point.kind == Class::kNoise;
  return judged;
}

int64_t count(const Table& table, Class kind) {
  return std::ranges::count_if(table.entries,
                               [&](const auto& entry) { return entry.second.kind == kind; });
}

}  // namespace nanhunt::golden
