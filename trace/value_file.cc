// SPDX-License-Identifier: Apache-2.0
#include "trace/value_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "trace/check.h"
#include "trace/error.h"
#include "trace/file_bytes.h"

namespace nanhunt::trace {

ValueFile::ValueFile(std::filesystem::path path)
    : path_(std::move(path)), extents_(SegmentFile(path_).value_extents()) {
  descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) {
    throw Error(ErrorKind::kUnreadable,
                "cannot read " + path_.string() + ": " + std::generic_category().message(errno));
  }
}

ValueFile::~ValueFile() {
  close(descriptor_);
}

void ValueFile::fail(const Record& record, const std::string& reason) const {
  throw Error(ErrorKind::kUnreadable, "cannot read values of " + describe(record.what) + " (rank " +
                                          std::to_string(record.where.rank) + ") in " +
                                          path_.string() + ": " + reason);
}

void ValueFile::read(const Record& record, int64_t start, int64_t count,
                     std::span<std::byte> out) const {
  const auto entry = extents_.find(record.where.sequence);
  NANHUNT_CHECK(entry != extents_.end());
  const ValueExtent& extent = entry->second;
  const auto size = static_cast<int64_t>(size_of(record.storage));
  NANHUNT_CHECK(static_cast<int64_t>(out.size()) == count * size);
  const int64_t elements = extent.bytes / size;
  int64_t expected = 1;
  for (const int64_t dimension : record.local_shape) expected *= dimension;
  if (extent.bytes != expected * size) fail(record, "the dataset has another size than its record");
  if (start < 0 || count < 0 || start > elements || count > elements - start) {
    fail(record, "elements " + std::to_string(start) + " to " + std::to_string(start + count) +
                     " are outside its " + std::to_string(elements) + " values");
  }
  const ssize_t got = read_at(descriptor_, out.data(), out.size(), extent.offset + start * size);
  if (got < 0) fail(record, std::generic_category().message(errno));
  if (static_cast<size_t>(got) != out.size()) fail(record, "truncated: values end early");
}

}  // namespace nanhunt::trace
