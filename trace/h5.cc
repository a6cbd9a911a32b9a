// SPDX-License-Identifier: Apache-2.0
#include "trace/h5.h"

#include <utility>

namespace nanhunt::trace::h5 {
namespace {

void check_count(hid_t attribute, const char* name, size_t count) {
  const Handle space(H5Aget_space(attribute), H5Sclose, "read attribute " + std::string(name));
  if (H5Sget_simple_extent_npoints(space) != static_cast<hssize_t>(count)) {
    throw Failure("attribute " + std::string(name) + " has an unexpected length");
  }
}

}  // namespace

Quiet::Quiet() {
  H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Quiet::~Quiet() {
  H5Eset_auto2(H5E_DEFAULT, function_, data_);
  H5Eclear2(H5E_DEFAULT);
}

Handle::Handle(hid_t id, Closer closer, const std::string& deed) : id_(id), closer_(closer) {
  if (id < 0) throw Failure("cannot " + deed);
}

Handle::Handle(Handle&& other) noexcept
    : id_(std::exchange(other.id_, -1)), closer_(other.closer_) {}

Handle& Handle::operator=(Handle&& other) noexcept {
  if (this != &other) {
    reset();
    id_ = std::exchange(other.id_, -1);
    closer_ = other.closer_;
  }
  return *this;
}

void Handle::reset() {
  if (id_ >= 0) closer_(id_);
  id_ = -1;
}

void Handle::close(const std::string& deed) {
  if (id_ >= 0) check(closer_(std::exchange(id_, -1)), deed);
}

void check(herr_t status, const std::string& deed) {
  if (status < 0) throw Failure("cannot " + deed);
}

Handle fixed_text_type(size_t size) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "create a text type");
  check(H5Tset_size(type, size), "create a text type");
  check(H5Tset_cset(type, H5T_CSET_UTF8), "create a text type");
  return type;
}

Handle list_space(size_t count) {
  const hsize_t size = count;
  return Handle(H5Screate_simple(1, &size, nullptr), H5Sclose, "create a data space");
}

void write_attribute(hid_t owner, const char* name, hid_t type, const void* value, size_t count) {
  const Handle space = count == 1 ? Handle(H5Screate(H5S_SCALAR), H5Sclose, "create a data space")
                                  : list_space(count);
  const Handle attribute(H5Acreate2(owner, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                         "create attribute " + std::string(name));
  check(H5Awrite(attribute, type, value), "write attribute " + std::string(name));
}

void write_attribute(hid_t owner, const char* name, const std::string& text) {
  const Handle type = fixed_text_type(text.size() + 1);
  write_attribute(owner, name, type, text.c_str());
}

bool has_attribute(hid_t owner, const char* name) {
  return H5Aexists(owner, name) > 0;
}

void read_attribute(hid_t owner, const char* name, hid_t type, void* value, size_t count) {
  const Handle attribute(H5Aopen(owner, name, H5P_DEFAULT), H5Aclose,
                         "open attribute " + std::string(name));
  check_count(attribute, name, count);
  check(H5Aread(attribute, type, value), "read attribute " + std::string(name));
}

std::string read_text_attribute(hid_t owner, const char* name) {
  const Handle attribute(H5Aopen(owner, name, H5P_DEFAULT), H5Aclose,
                         "open attribute " + std::string(name));
  const Handle type(H5Aget_type(attribute), H5Tclose, "read attribute " + std::string(name));
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0) {
    throw Failure("attribute " + std::string(name) + " is not text of fixed length");
  }
  check_count(attribute, name, 1);
  std::string text(H5Tget_size(type), '\0');
  check(H5Aread(attribute, type, text.data()), "read attribute " + std::string(name));
  return text.substr(0, text.find('\0'));
}

}  // namespace nanhunt::trace::h5
