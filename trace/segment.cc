// SPDX-License-Identifier: Apache-2.0
#include "trace/segment.h"

#include <cinttypes>
#include <cstdio>

namespace nanhunt::trace {

std::string_view name_of(CutReason cut) {
  switch (cut) {
    case CutReason::kStepEnd:
      return "step_end";
    case CutReason::kRows:
      return "rows";
    case CutReason::kAge:
      return "age";
    case CutReason::kNonFinite:
      return "non_finite";
    case CutReason::kTrigger:
      return "trigger";
    case CutReason::kException:
      return "exception";
    case CutReason::kSignal:
      return "signal";
    case CutReason::kClose:
      return "close";
  }
  return "unknown";
}

std::filesystem::path segment_path(const std::filesystem::path& trace, const SegmentName& name) {
  char step[48];
  char file[64];
  std::snprintf(step, sizeof(step), "step-%06" PRId64, name.step);
  std::snprintf(file, sizeof(file), "rank-%05" PRId32 ".%03" PRId32 ".h5", name.rank, name.index);
  return trace / step / file;
}

std::optional<SegmentName> parse_segment_path(const std::filesystem::path& path) {
  const std::string step = path.parent_path().filename().string();
  const std::string file = path.filename().string();
  SegmentName name;
  if (std::sscanf(step.c_str(), "step-%" SCNd64, &name.step) != 1) return std::nullopt;
  if (std::sscanf(file.c_str(), "rank-%" SCNd32 ".%" SCNd32, &name.rank, &name.index) != 2) {
    return std::nullopt;
  }
  if (name.step < 0 || name.rank < 0 || name.index < 0) return std::nullopt;
  // Temporary names and other spellings of the numbers are not segments.
  const std::filesystem::path canonical = segment_path("", name);
  if (canonical.filename() != file || canonical.parent_path().filename() != step) {
    return std::nullopt;
  }
  return name;
}

}  // namespace nanhunt::trace
