// SPDX-License-Identifier: Apache-2.0
#include "trace/step_files.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "trace/error.h"
#include "trace/segment_file.h"

namespace nanhunt::trace {
namespace {

namespace fs = std::filesystem;

using Found = std::vector<std::pair<SegmentName, fs::path>>;

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorKind::kUnreadable, message);
}

std::vector<fs::path> list_folder(const fs::path& folder) {
  std::vector<fs::path> paths;
  try {
    for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  } catch (const fs::filesystem_error& error) {
    fail("cannot read " + folder.string() + ": " + error.code().message());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

void add_if_segment(const fs::path& file, Found& found) {
  if (const auto name = parse_segment_path(file)) found.emplace_back(*name, file);
}

}  // namespace

std::vector<fs::path> list_segments(const fs::path& folder) {
  if (!fs::exists(folder)) fail("no trace at " + folder.string() + ": no such folder");
  if (!fs::is_directory(folder)) fail("no trace at " + folder.string() + ": not a folder");
  Found found;
  for (const fs::path& path : list_folder(folder)) {
    add_if_segment(path, found);  // the folder is that of a step
    if (!path.filename().string().starts_with("step-") || !fs::is_directory(path)) continue;
    for (const fs::path& file : list_folder(path)) add_if_segment(file, found);
  }
  if (found.empty()) fail("no trace at " + folder.string() + ": no segment in this folder");
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.first.step, a.first.rank, a.first.index) <
           std::tuple(b.first.step, b.first.rank, b.first.index);
  });
  std::vector<fs::path> paths;
  for (auto& [name, path] : found) paths.push_back(std::move(path));
  return paths;
}

std::vector<int64_t> steps_in(const fs::path& folder) {
  std::vector<int64_t> steps;
  for (const fs::path& path : list_segments(folder)) {
    const int64_t step = parse_segment_path(path)->step;
    if (steps.empty() || steps.back() != step) steps.push_back(step);
  }
  return steps;
}

fs::path step_folder(const fs::path& trace, int64_t step) {
  return segment_path(trace, {step, 0, 0}).parent_path();
}

fs::path file_of_row(const fs::path& step_folder, int64_t step, int32_t rank, int64_t sequence) {
  const auto path_of = [&](int32_t index) {
    return step_folder / segment_path("", {step, rank, index}).filename();
  };
  for (int32_t index = 0; fs::exists(path_of(index)); ++index) {
    const schema::HeaderRow header = SegmentFile(path_of(index)).header();
    if (header.first_sequence <= sequence && sequence <= header.last_sequence)
      return path_of(index);
  }
  return path_of(0);
}

}  // namespace nanhunt::trace
