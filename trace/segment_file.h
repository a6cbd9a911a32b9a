// SPDX-License-Identifier: Apache-2.0
// One segment file, open for reading. Each call throws Error(kUnreadable) that names file, rank and
// step. Not thread safe. A file under its final name never changes, so nothing is locked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "trace/h5.h"
#include "trace/segment.h"
#include "trace/segment_schema.h"

namespace nanhunt::trace {

class SegmentFile {
 public:
  // Opens, checks format and version, reads the header: a fixed, small cost.
  // `path` must be a segment path (parse_segment_path).
  explicit SegmentFile(std::filesystem::path path);
  ~SegmentFile();
  SegmentFile(SegmentFile&&) = delete;
  SegmentFile& operator=(SegmentFile&&) = delete;

  const schema::HeaderRow& header() const { return header_; }
  RunFacts facts() const;
  std::string cut_detail() const;
  // All tables; `values` stays empty.
  Segment read() const;

  // Values are found by sequence number: names may have been changed by a rules file.
  bool has_values(int64_t sequence) const;
  // Elements [start, start + count) in local order, as they lie in the file.
  void read_values(const Record& record, int64_t start, int64_t count,
                   std::span<std::byte> out) const;

 private:
  struct Extent {
    int64_t offset = 0;  // in the file
    int64_t bytes = 0;
  };

  void open_checked();
  void check_format() const;
  const std::map<int64_t, std::string>& value_paths() const;
  Extent find_values(const Record& record) const;
  template <typename Function>
  auto guarded(Function function) const;
  [[noreturn]] void fail(const std::string& reason) const;

  std::filesystem::path path_;
  SegmentName name_;
  h5::Handle file_;
  int descriptor_ = -1;
  schema::HeaderRow header_;
  // By sequence; filled at the first reading of values.
  mutable std::map<int64_t, std::string> value_paths_;
  mutable std::map<int64_t, Extent> extents_;
};

}  // namespace nanhunt::trace
