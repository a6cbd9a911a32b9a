// SPDX-License-Identifier: Apache-2.0
#include "trace/h5_sink.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "trace/h5.h"

namespace nanhunt::trace::h5 {
namespace {

// HDF5 hands out pointers to `base`; it must come first.
struct SinkFile {
  H5FD_t base;
  Sink* sink;
  haddr_t end_of_allocation;
  haddr_t end_of_file;
};

SinkFile* as_sink(H5FD_t* file) {
  return reinterpret_cast<SinkFile*>(file);
}
const SinkFile* as_sink(const H5FD_t* file) {
  return reinterpret_cast<const SinkFile*>(file);
}

H5FD_t* open_sink(const char*, unsigned, hid_t access, haddr_t) {
  const void* info = H5Pget_driver_info(access);
  if (info == nullptr) return nullptr;
  auto* file = new (std::nothrow) SinkFile{};
  if (file == nullptr) return nullptr;
  std::memcpy(&file->sink, info, sizeof(file->sink));
  return &file->base;
}

herr_t close_sink(H5FD_t* file) {
  delete as_sink(file);
  return 0;
}

herr_t query_sink(const H5FD_t*, unsigned long* flags) {
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

haddr_t get_end_of_allocation(const H5FD_t* file, H5FD_mem_t) {
  return as_sink(file)->end_of_allocation;
}

herr_t set_end_of_allocation(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  as_sink(file)->end_of_allocation = address;
  return 0;
}

haddr_t get_end_of_file(const H5FD_t* file, H5FD_mem_t) {
  return as_sink(file)->end_of_file;
}

// Cells that were never written, or whose write failed, read as zeros.
herr_t read_sink(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size, void* buffer) {
  auto* out = static_cast<char*>(buffer);
  while (size > 0) {
    const ssize_t got =
        pread(as_sink(file)->sink->descriptor, out, size, static_cast<off_t>(address));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    out += got;
    address += static_cast<haddr_t>(got);
    size -= static_cast<size_t>(got);
  }
  std::memset(out, 0, size);
  return 0;
}

herr_t write_sink(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size,
                  const void* buffer) {
  SinkFile* self = as_sink(file);
  const auto* in = static_cast<const char*>(buffer);
  self->end_of_file = std::max<haddr_t>(self->end_of_file, address + size);
  while (size > 0 && self->sink->error == 0) {
    const ssize_t put = pwrite(self->sink->descriptor, in, size, static_cast<off_t>(address));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      self->sink->error = put < 0 ? errno : ENOSPC;
      break;
    }
    in += put;
    address += static_cast<haddr_t>(put);
    size -= static_cast<size_t>(put);
  }
  return 0;
}

herr_t truncate_sink(H5FD_t* file, hid_t, hbool_t) {
  SinkFile* self = as_sink(file);
  if (self->end_of_allocation == self->end_of_file) return 0;
  self->end_of_file = self->end_of_allocation;
  if (self->sink->error == 0 &&
      ftruncate(self->sink->descriptor, static_cast<off_t>(self->end_of_file)) != 0) {
    self->sink->error = errno;
  }
  return 0;
}

H5FD_class_t sink_class() {
  H5FD_class_t driver{};
  driver.name = "nanhunt_sink";
  driver.maxaddr = (haddr_t{1} << 62) - 1;
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(Sink*);
  driver.open = open_sink;
  driver.close = close_sink;
  driver.query = query_sink;
  driver.get_eoa = get_end_of_allocation;
  driver.set_eoa = set_end_of_allocation;
  driver.get_eof = get_end_of_file;
  driver.read = read_sink;
  driver.write = write_sink;
  driver.truncate = truncate_sink;
  const H5FD_mem_t map[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(map), std::end(map), std::begin(driver.fl_map));
  return driver;
}

}  // namespace

SinkDriver::SinkDriver(hid_t access, Sink* sink) {
  const H5FD_class_t driver = sink_class();
  driver_ = H5FDregister(&driver);
  if (driver_ < 0) throw Failure("cannot register the file driver");
  // The property list copies the pointer, not the sink.
  if (H5Pset_driver(access, driver_, &sink) < 0) {
    H5FDunregister(driver_);
    throw Failure("cannot select the file driver");
  }
}

SinkDriver::~SinkDriver() {
  H5FDunregister(driver_);
}

}  // namespace nanhunt::trace::h5
