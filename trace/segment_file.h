// SPDX-License-Identifier: Apache-2.0
// One segment file, open for reading. Each call throws Error(kUnreadable) that names file, rank and
// step. Not thread safe. A file under its final name never changes, so nothing is locked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "trace/h5.h"
#include "trace/segment.h"
#include "trace/segment_schema.h"

namespace nanhunt::trace {

// Values of one record: one piece of the file, elements in local order.
struct ValueExtent {
  int64_t offset = 0;
  int64_t bytes = 0;
};

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

  // Where the captured values lie, by sequence number (names may have been changed by a rules
  // file). Looks up each dataset: about 20 us apiece.
  std::map<int64_t, ValueExtent> value_extents() const;

 private:
  void open_checked();
  void check_format() const;
  template <typename Function>
  auto guarded(Function function) const;
  [[noreturn]] void fail(const std::string& reason) const;

  std::filesystem::path path_;
  SegmentName name_;
  h5::Handle file_;
  int descriptor_ = -1;
  schema::HeaderRow header_;
};

}  // namespace nanhunt::trace
