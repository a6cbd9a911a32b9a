// SPDX-License-Identifier: Apache-2.0
// The HDF5 file driver with which segments are written: it writes to a file descriptor and
// remembers the first failed write instead of failing. HDF5 cannot close a file cleanly once a
// write failed (the library tries again at exit, and prints); with this driver it never learns of a
// full disk. The writer asks `Sink::error` after closing, and throws a file with an error away.
#pragma once

#include <hdf5.h>

namespace nanhunt::trace::h5 {

struct Sink {
  int descriptor = -1;  // open for reading and writing; not owned
  int error = 0;        // errno of the first failed write; later writes are dropped
};

// Registers the driver for as long as it lives and makes `access` (a file access property list) use
// it for `sink`, which must outlive the file.
class SinkDriver {
 public:
  SinkDriver(hid_t access, Sink* sink);
  ~SinkDriver();
  SinkDriver(const SinkDriver&) = delete;
  SinkDriver& operator=(const SinkDriver&) = delete;

 private:
  hid_t driver_ = -1;
};

}  // namespace nanhunt::trace::h5
