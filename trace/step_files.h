// SPDX-License-Identifier: Apache-2.0
// The files of a trace by their names: which steps and ranks there are, without opening one, and
// which file holds a row. A folder is that of a trace, or that of one of its steps
// (TRACE/step-000012), which is read as a trace of that step alone: what the others are like does
// not matter then.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace nanhunt::trace {

// Segment files in order of step, rank and index. Temporary names are passed over. Throws
// Error(kUnreadable): no such folder, not a folder, no segment in it.
std::vector<std::filesystem::path> list_segments(const std::filesystem::path& folder);

// Steps that the folder has files of, sorted. Throws as list_segments.
std::vector<int64_t> steps_in(const std::filesystem::path& folder);

// TRACE/step-000012
std::filesystem::path step_folder(const std::filesystem::path& trace, int64_t step);

// The segment of that rank whose rows include the sequence number; the rank's first when none says
// so. Throws Error(kUnreadable) naming a file that cannot be opened.
std::filesystem::path file_of_row(const std::filesystem::path& step_folder, int64_t step,
                                  int32_t rank, int64_t sequence);

// Optional fact of a run (run_facts.h): the same in all files of a run, another in each run.
// Segments of one rank and step that disagree about it are refused by the reader.
inline constexpr const char* kRunFact = "run";

}  // namespace nanhunt::trace
