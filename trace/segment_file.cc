// SPDX-License-Identifier: Apache-2.0
#include "trace/segment_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "trace/check.h"
#include "trace/error.h"
#include "trace/file_bytes.h"
#include "trace/segment_tables.h"
#include "trace/text_heap.h"

namespace nanhunt::trace {
namespace {

using h5::Handle;

constexpr std::array<unsigned char, 8> kSignature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1A, '\n'};
constexpr size_t kSuperblockBytes = 48;  // version 2
constexpr size_t kEndOfFileAt = 28;

// "" when the file begins as HDF5 and is as long as it says, else what is wrong with it. Only this
// tells a truncated file from a foreign one.
std::string container_fault(int descriptor) {
  std::array<unsigned char, kSuperblockBytes> block{};
  const ssize_t got = read_at(descriptor, block.data(), block.size(), 0);
  if (got < 0) return std::generic_category().message(errno);
  if (got == 0) return "truncated: the file is empty";
  const size_t compared = std::min(kSignature.size(), static_cast<size_t>(got));
  if (std::memcmp(block.data(), kSignature.data(), compared) != 0) return "not an HDF5 file";
  if (static_cast<size_t>(got) < block.size()) {
    return "truncated: only " + std::to_string(got) + " bytes";
  }
  if (block[8] != 2) return "";  // another superblock: not by our writer, HDF5 itself will tell
  uint64_t expected = 0;
  std::memcpy(&expected, &block[kEndOfFileAt], sizeof(expected));
  const auto size = static_cast<uint64_t>(lseek(descriptor, 0, SEEK_END));
  if (size >= expected) return "";
  return "truncated: " + std::to_string(size) + " of " + std::to_string(expected) + " bytes";
}

ValueExtent extent_of(hid_t file, const std::string& path) {
  const Handle dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose, "open dataset " + path);
  const Handle type(H5Dget_type(dataset), H5Tclose, "read dataset " + path);
  const Handle space(H5Dget_space(dataset), H5Sclose, "read dataset " + path);
  ValueExtent extent;
  extent.bytes = H5Sget_simple_extent_npoints(space) * static_cast<int64_t>(H5Tget_size(type));
  if (extent.bytes == 0) return extent;
  const haddr_t offset = H5Dget_offset(dataset);
  if (offset == HADDR_UNDEF) throw h5::Failure("dataset " + path + " is not contiguous");
  extent.offset = static_cast<int64_t>(offset);
  return extent;
}

bool has_long_addresses(int descriptor) {
  std::array<unsigned char, 10> block{};
  const bool there = read_at(descriptor, block.data(), block.size(), 0) ==
                     static_cast<ssize_t>(block.size());
  return there && block[8] == 2 && block[9] == 8;
}

// As our writer lays them out they are read without the library (text_heap.h); a file that another
// program wrote anew may have them in another form.
std::vector<std::string> read_strings(hid_t file, int descriptor) {
  const Handle dataset(H5Dopen2(file, "strings", H5P_DEFAULT), H5Dclose, "open table strings");
  const Handle type(H5Dget_type(dataset), H5Tclose, "read table strings");
  const haddr_t offset = H5Dget_offset(dataset);
  const bool ours = H5Tis_variable_str(type) > 0 && has_long_addresses(descriptor);
  if (offset == HADDR_UNDEF || !ours) return h5::read_texts(file, "strings");
  return read_text_list(descriptor, static_cast<int64_t>(offset),
                        h5::count_rows(file, "strings"));
}

}  // namespace

void SegmentFile::fail(const std::string& reason) const {
  throw Error(ErrorKind::kUnreadable, "cannot read " + path_.string() + " (rank " +
                                          std::to_string(name_.rank) + ", step " +
                                          std::to_string(name_.step) + "): " + reason);
}

template <typename Function>
auto SegmentFile::guarded(Function function) const {
  h5::Quiet quiet;
  try {
    return function();
  } catch (const h5::Failure& failure) {
    quiet.stay();
    fail(failure.what());
  }
}

SegmentFile::SegmentFile(std::filesystem::path path) : path_(std::move(path)) {
  const auto name = parse_segment_path(path_);
  NANHUNT_CHECK(name.has_value());
  name_ = *name;
  descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) fail(std::generic_category().message(errno));
  try {
    const std::string fault = container_fault(descriptor_);
    if (!fault.empty()) fail(fault);
    guarded([this] { open_checked(); });
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

SegmentFile::~SegmentFile() {
  const h5::Quiet quiet;
  file_.reset();
  close(descriptor_);
}

void SegmentFile::open_checked() {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "create a property list");
  h5::check(H5Pset_fclose_degree(access, H5F_CLOSE_STRONG), "set a property");
#if H5_VERSION_GE(1, 10, 7)
  h5::check(H5Pset_file_locking(access, false, true), "set a property");
#endif
  file_ = Handle(H5Fopen(path_.c_str(), H5F_ACC_RDONLY, access), H5Fclose,
                 "open it as HDF5: the file is damaged");
  check_format();
  h5::read_row_attribute(file_, schema::kSegmentAttribute, schema::header_fields(), sizeof(header_),
                         &header_);
  if (header_.step != name_.step || header_.rank != name_.rank || header_.index != name_.index) {
    fail("the file says rank " + std::to_string(header_.rank) + ", step " +
         std::to_string(header_.step) + ", segment " + std::to_string(header_.index) +
         "; was it renamed?");
  }
}

void SegmentFile::check_format() const {
  if (!h5::has_attribute(file_, schema::kFormatAttribute) ||
      h5::read_text_attribute(file_, schema::kFormatAttribute) != schema::kFormatName) {
    fail("an HDF5 file, but not a trace segment of nanhunt");
  }
  std::array<int32_t, 2> version{};
  h5::read_attribute(file_, schema::kVersionAttribute, H5T_STD_I32LE, version.data(),
                     version.size());
  if (version[0] > kFormatMajor) {
    fail("format version " + std::to_string(version[0]) + '.' + std::to_string(version[1]) +
         " is newer than this nanhunt reads (" + std::to_string(kFormatMajor) +
         ".x); use a newer nanhunt");
  }
}

RunFacts SegmentFile::facts() const {
  return guarded([this] {
    return facts_from_tables(
        header_, read_strings(file_, descriptor_),
        h5::read_table<schema::FactRow>(file_, "facts", schema::fact_fields()));
  });
}

std::string SegmentFile::cut_detail() const {
  if (header_.cut_detail == 0) return "";
  return guarded([this] {
    const auto strings = read_strings(file_, descriptor_);
    if (header_.cut_detail >= strings.size()) throw h5::Failure("cut_detail is no string");
    return strings[header_.cut_detail];
  });
}

Segment SegmentFile::read() const {
  return guarded([this] {
    SegmentTables tables;
    tables.header = header_;
    tables.strings = read_strings(file_, descriptor_);
    tables.integers = h5::read_list<int64_t>(file_, "integers", H5T_STD_I64LE);
    tables.digests = h5::read_list<uint64_t>(file_, "digests", H5T_STD_U64LE);
    tables.records = h5::read_table<schema::RecordRow>(file_, "records", schema::record_fields());
    tables.links = h5::read_table<schema::LinkRow>(file_, "links", schema::link_fields());
    tables.regions = h5::read_table<schema::RegionRow>(file_, "regions", schema::region_fields());
    tables.placements =
        h5::read_table<schema::PlacementRow>(file_, "placements", schema::placement_fields());
    tables.mesh = h5::read_table<schema::MeshRow>(file_, "mesh", schema::mesh_fields());
    tables.boxes = h5::read_table<schema::BoxRow>(file_, "boxes", schema::box_fields());
    tables.collectives =
        h5::read_table<schema::CollectiveRow>(file_, "collectives", schema::collective_fields());
    tables.facts = h5::read_table<schema::FactRow>(file_, "facts", schema::fact_fields());
    tables.dropped = h5::read_table<schema::DroppedRow>(file_, "dropped", schema::dropped_fields());
    return from_tables(tables);
  });
}

std::map<int64_t, ValueExtent> SegmentFile::value_extents() const {
  return guarded([this] {
    const auto strings = read_strings(file_, descriptor_);
    std::map<int64_t, ValueExtent> extents;
    for (const schema::RecordRow& row :
         h5::read_table<schema::RecordRow>(file_, "records", schema::record_fields())) {
      if (row.has_values == 0) continue;
      if (row.site >= strings.size() || row.role >= strings.size()) {
        throw h5::Failure("a row points outside the strings");
      }
      const std::string path = schema::values_path(strings[row.site], static_cast<Phase>(row.phase),
                                                   strings[row.role], row.sequence);
      extents[row.sequence] = extent_of(file_, path);
    }
    return extents;
  });
}

}  // namespace nanhunt::trace
