// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <vector>

#include "trace/error.h"
#include "trace/h5.h"
#include "trace/h5_sink.h"
#include "trace/segment.h"
#include "trace/segment_schema.h"
#include "trace/segment_tables.h"

namespace nanhunt::trace {
namespace {

using h5::Handle;
namespace fs = std::filesystem;

constexpr size_t kMaxRank = H5S_MAX_RANK;

void write_header(hid_t file, const SegmentTables& tables) {
  h5::write_attribute(file, schema::kFormatAttribute, std::string(schema::kFormatName));
  const int32_t version[] = {kFormatMajor, kFormatMinor};
  h5::write_attribute(file, schema::kVersionAttribute, H5T_STD_I32LE, version, 2);
  const Handle type = h5::row_type(schema::header_fields(), sizeof(schema::HeaderRow));
  h5::write_attribute(file, schema::kSegmentAttribute, type, &tables.header);
}

void write_tables(hid_t file, const SegmentTables& tables) {
  h5::write_texts(file, "strings", tables.strings);
  h5::write_list(file, "integers", H5T_STD_I64LE, tables.integers.data(), tables.integers.size());
  h5::write_list(file, "digests", H5T_STD_U64LE, tables.digests.data(), tables.digests.size());
  h5::write_table(file, "records", schema::record_fields(), tables.records);
  h5::write_table(file, "links", schema::link_fields(), tables.links);
  h5::write_table(file, "regions", schema::region_fields(), tables.regions);
  h5::write_table(file, "placements", schema::placement_fields(), tables.placements);
  h5::write_table(file, "mesh", schema::mesh_fields(), tables.mesh);
  h5::write_table(file, "boxes", schema::box_fields(), tables.boxes);
  h5::write_table(file, "collectives", schema::collective_fields(), tables.collectives);
  h5::write_table(file, "facts", schema::fact_fields(), tables.facts);
  h5::write_table(file, "dropped", schema::dropped_fields(), tables.dropped);
}

Handle values_space(const std::vector<int64_t>& shape) {
  if (shape.empty()) return Handle(H5Screate(H5S_SCALAR), H5Sclose, "create a data space");
  std::vector<hsize_t> sizes(shape.begin(), shape.end());
  if (sizes.size() > kMaxRank) {  // more dimensions than HDF5 has: flattened
    hsize_t count = 1;
    for (const hsize_t size : sizes) count *= size;
    sizes = {count};
  }
  return Handle(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose,
                "create a data space");
}

// Creates the dataset's groups on the way.
void write_values(hid_t file, hid_t with_groups, const Record& record,
                  const std::vector<std::byte>& values) {
  const std::string path = schema::values_path(record.what.site, record.what.phase,
                                               record.what.role, record.where.sequence);
  const Handle type = schema::value_type(record.storage);
  const Handle space = values_space(record.local_shape);
  const Handle dataset(
      H5Dcreate2(file, path.c_str(), type, space, with_groups, H5P_DEFAULT, H5P_DEFAULT), H5Dclose,
      "create dataset " + path);
  if (!values.empty()) {
    h5::check(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
              "write dataset " + path);
  }
  if (schema::needs_dtype_attribute(record.storage)) {
    h5::write_attribute(dataset, schema::kDTypeAttribute, std::string(name_of(record.storage)));
  }
}

void write_all_values(hid_t file, const Segment& segment) {
  const Handle with_groups(H5Pcreate(H5P_LINK_CREATE), H5Pclose, "create a property list");
  h5::check(H5Pset_create_intermediate_group(with_groups, 1), "set a property");
  for (size_t i = 0; i < segment.records.size(); ++i) {
    const std::vector<std::byte>* values = captured_values(segment, i);
    if (values != nullptr) write_values(file, with_groups, segment.records[i], *values);
  }
}

void write_file(const Segment& segment, const SegmentTables& tables, const fs::path& label,
                h5::Sink* sink) {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "create a property list");
  // Superblock 2: opens in every HDF5 since 1.8, also after a crash of the writer.
  h5::check(H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18), "set a property");
  const h5::SinkDriver driver(access, sink);
  Handle file(H5Fcreate(label.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose,
              "create the file");
  write_header(file, tables);
  write_tables(file, tables);
  write_all_values(file, segment);
  file.close("close the file");
}

std::string reason_of(int error) {
  return std::generic_category().message(error);
}

[[noreturn]] void fail(const fs::path& path, const Segment& segment, const std::string& reason) {
  throw Error(ErrorKind::kInternal, "cannot write " + path.string() + " (rank " +
                                        std::to_string(segment.rank) + ", step " +
                                        std::to_string(segment.step) + "): " + reason);
}

// Writes the whole file into the descriptor. "" or why not.
std::string write_descriptor(int descriptor, const Segment& segment, const fs::path& label) {
  h5::Sink sink{descriptor};
  std::string reason;
  try {
    const h5::Quiet quiet;
    write_file(segment, to_tables(segment), label, &sink);
  } catch (const std::exception& failure) {
    reason = failure.what();
  }
  return sink.error != 0 ? reason_of(sink.error) : reason;
}

// Whether `path` still names the open file: another writer may have renamed it meanwhile.
bool is_named(int descriptor, const fs::path& path) {
  struct stat open {}, named {};
  return fstat(descriptor, &open) == 0 && stat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

// The temporary file, empty, for this process alone: two that write one rank of one step would
// write into each other's file. What a killed writer left is used again. -1 (errno): it cannot be
// had; EWOULDBLOCK: another one is writing it. File systems without locks are taken at their word.
int open_alone(const fs::path& temporary) {
  for (;;) {
    const int descriptor = open(temporary.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) return descriptor;
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      close(descriptor);
      errno = EWOULDBLOCK;
      return -1;
    }
    if (is_named(descriptor, temporary)) {
      [[maybe_unused]] const int ignored = ftruncate(descriptor, 0);  // devices have no length
      return descriptor;
    }
    close(descriptor);
  }
}

}  // namespace

void write_segment(const fs::path& trace, const Segment& segment) {
  const fs::path path = segment_path(trace, {segment.step, segment.rank, segment.index});
  const fs::path temporary = path.parent_path() / ('.' + path.filename().string() + ".part");
  std::error_code status;
  fs::create_directories(path.parent_path(), status);
  if (status) fail(path, segment, status.message());
  const int descriptor = open_alone(temporary);
  if (descriptor < 0) {
    fail(path, segment,
         errno == EWOULDBLOCK ? "another process is writing it; are two runs in one folder?"
                              : reason_of(errno));
  }
  std::string reason = write_descriptor(descriptor, segment, temporary);
  // Network file systems report a full disk here.
  if (close(descriptor) != 0 && reason.empty()) reason = reason_of(errno);
  if (reason.empty() && rename(temporary.c_str(), path.c_str()) != 0) reason = reason_of(errno);
  if (reason.empty()) return;
  unlink(temporary.c_str());
  fail(path, segment, reason);
}

}  // namespace nanhunt::trace
