// SPDX-License-Identifier: Apache-2.0
// A segment: the unit in which a trace is written. Rows of one step and rank, in memory, and the
// file step-000012/rank-00003.000.h5 that holds them. A file is written under a temporary name,
// closed and renamed: what has its final name is whole. Format: docs/trace_format.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/collective.h"
#include "trace/record.h"
#include "trace/run_facts.h"

namespace nanhunt::trace {

// Major: a reader refuses a newer one. Minor: additions that an older reader may ignore.
inline constexpr int kFormatMajor = 1;
inline constexpr int kFormatMinor = 2;

// Why a segment ended here. Numbers are written to files.
enum class CutReason : uint8_t {
  kStepEnd = 0,    // the step is complete on this rank
  kRows = 1,       // 512 rows
  kAge = 2,        // 200 ms
  kNonFinite = 3,  // first non-finite value
  kTrigger = 4,
  kException = 5,
  kSignal = 6,
  kClose = 7,  // the recorder was closed inside a step
};

std::string_view name_of(CutReason cut);  // "step_end", "rows", ...

struct Segment {
  int64_t step = 0;
  int32_t rank = 0;
  int32_t index = 0;  // 0, 1, ... within step and rank
  RunFacts facts;
  std::vector<Record> records;
  std::vector<std::vector<std::byte>> values;  // packed in local order; empty where not captured
  std::vector<Collective> collectives;    // completed since the last segment, with log index below
  std::vector<int64_t> collective_index;  // index of each in the log of (step, rank)
  CutReason cut = CutReason::kStepEnd;
  std::string cut_detail;  // signal or exception text
  // What the recorder left out, by reason: "memory", "bytes", "hook_failed: TEXT"; with counts.
  std::vector<std::pair<std::string, int64_t>> dropped;
};

struct SegmentName {
  int64_t step = 0;
  int32_t rank = 0;
  int32_t index = 0;
};

std::filesystem::path segment_path(const std::filesystem::path& trace, const SegmentName& name);
std::optional<SegmentName> parse_segment_path(const std::filesystem::path& path);

// Writes the file and renames it. Throws Error(kInternal) naming file, rank and step; on failure
// nothing stays under either name. One thread at a time per process (HDF5 has one lock).
void write_segment(const std::filesystem::path& trace, const Segment& segment);

}  // namespace nanhunt::trace
