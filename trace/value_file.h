// SPDX-License-Identifier: Apache-2.0
// The values in one segment file. Where they lie is looked up once; HDF5 is then closed (an open
// file costs it most of a megabyte) and values are read as plain bytes. Errors as SegmentFile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>

#include "trace/record.h"
#include "trace/segment_file.h"

namespace nanhunt::trace {

class ValueFile {
 public:
  explicit ValueFile(std::filesystem::path path);
  ~ValueFile();
  ValueFile(const ValueFile&) = delete;
  ValueFile& operator=(const ValueFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  bool contains(int64_t sequence) const { return extents_.contains(sequence); }
  // Elements [start, start + count) in local order. `out` holds count * size_of(storage) bytes.
  void read(const Record& record, int64_t start, int64_t count, std::span<std::byte> out) const;

 private:
  [[noreturn]] void fail(const Record& record, const std::string& reason) const;

  std::filesystem::path path_;
  std::map<int64_t, ValueExtent> extents_;  // by sequence
  int descriptor_ = -1;
};

}  // namespace nanhunt::trace
