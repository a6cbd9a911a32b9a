// SPDX-License-Identifier: Apache-2.0
#include "hooks/capsule_ring.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "capsule/capsule.h"
#include "trace/error.h"
#include "trace/segment.h"

namespace nanhunt::hooks {
namespace {

namespace fs = std::filesystem;

std::optional<int64_t> step_of(const fs::path& folder) {
  constexpr std::string_view kPrefix = "step-";
  const std::string name = folder.filename().string();
  if (!name.starts_with(kPrefix)) return std::nullopt;
  int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + kPrefix.size(), end, step);
  return error == std::errc() && rest == end ? std::optional(step) : std::nullopt;
}

}  // namespace

CapsuleRing::CapsuleRing(fs::path folder, int64_t keep, bool look_inside)
    : folder_(std::move(folder)), keep_(keep), look_inside_(look_inside) {}

bool CapsuleRing::is_whole(int64_t step) {
  if (whole_.contains(step)) return true;
  try {
    if (!capsule::is_ended(folder_, step)) return false;
    if (look_inside_ && !capsule::Capsule(folder_, step).faults().empty()) return false;
  } catch (const trace::Error&) {  // empty, or damaged
    return false;
  }
  whole_.insert(step);
  return true;
}

void CapsuleRing::forget_older_than(int64_t step) {
  if (keep_ <= 0) return;
  std::error_code ignored;
  std::vector<std::pair<int64_t, fs::path>> older;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    const auto found = step_of(entry.path());
    if (found && *found < step) older.emplace_back(*found, entry.path());
  }
  std::ranges::sort(older, std::greater());
  int64_t any = 0, whole = 0;
  for (const auto& [number, path] : older) {
    if (any++ < keep_) {
      whole += is_whole(number) ? 1 : 0;
    } else if (whole < keep_ && is_whole(number)) {
      ++whole;
    } else {
      fs::remove_all(path, ignored);
      whole_.erase(number);
    }
  }
}

void remove_segments(const fs::path& folder, int64_t step, int32_t rank) {
  std::error_code ignored;
  const fs::path of_step = trace::segment_path(folder, {step, rank, 0}).parent_path();
  for (const auto& entry : fs::directory_iterator(of_step, ignored)) {
    const auto name = trace::parse_segment_path(entry.path());
    if (name && name->rank == rank) fs::remove(entry.path(), ignored);
  }
}

}  // namespace nanhunt::hooks
