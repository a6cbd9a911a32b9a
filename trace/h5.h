// SPDX-License-Identifier: Apache-2.0
// Checked wrappers of the few HDF5 C calls that trace files need. A call that fails throws Failure
// with words of ours; HDF5's own error text is switched off while a Quiet lives and is never passed
// on. Not thread safe between themselves beyond what HDF5 is: one lock per process.
#pragma once

#include <hdf5.h>

#include <stdexcept>
#include <string>

namespace nanhunt::trace::h5 {

// "cannot create dataset records". Caught by the writer and the reader, which add file, rank, step.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Switches HDF5's error printing off for this thread, and back to what it was; or for good, after a
// damaged file, of which it may keep a part and complain when the process ends.
class Quiet {
 public:
  Quiet();
  ~Quiet();
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
  void stay() { function_ = nullptr; }

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

// Owns an HDF5 identifier.
class Handle {
 public:
  using Closer = herr_t (*)(hid_t);

  Handle() = default;
  // Throws Failure("cannot " + deed) when the identifier is negative.
  Handle(hid_t id, Closer closer, const std::string& deed);
  ~Handle() { reset(); }
  Handle(Handle&& other) noexcept;
  Handle& operator=(Handle&& other) noexcept;

  operator hid_t() const { return id_; }
  void reset();
  // Closes and reports: reset() swallows a failure.
  void close(const std::string& deed);

 private:
  hid_t id_ = -1;
  Closer closer_ = nullptr;
};

// Throws Failure("cannot " + deed) when an HDF5 call returned a negative status.
void check(herr_t status, const std::string& deed);

Handle fixed_text_type(size_t size);
// List of `count` elements.
Handle list_space(size_t count);

// Attributes of the object `owner`; scalar, or a list where count > 1.
void write_attribute(hid_t owner, const char* name, hid_t type, const void* value,
                     size_t count = 1);
void write_attribute(hid_t owner, const char* name, const std::string& text);
bool has_attribute(hid_t owner, const char* name);
// `count` must be what the file has.
void read_attribute(hid_t owner, const char* name, hid_t type, void* value, size_t count = 1);
std::string read_text_attribute(hid_t owner, const char* name);

}  // namespace nanhunt::trace::h5
