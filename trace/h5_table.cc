// SPDX-License-Identifier: Apache-2.0
#include "trace/h5_table.h"

#include <cstring>

namespace nanhunt::trace::h5 {
namespace {

Handle text_type() {
  return fixed_text_type(H5T_VARIABLE);
}

// Text of any length is converted in pieces; the default piece, 1 MiB that HDF5 zeroes for each
// call, would take longer than all else in a file.
Handle text_transfer() {
  constexpr size_t kPieceBytes = 1 << 14;
  Handle transfer(H5Pcreate(H5P_DATASET_XFER), H5Pclose, "create a property list");
  check(H5Pset_buffer(transfer, kPieceBytes, nullptr, nullptr), "set a property");
  return transfer;
}

Handle open_table(hid_t file, const char* name) {
  return Handle(H5Dopen2(file, name, H5P_DEFAULT), H5Dclose, std::string("open table ") + name);
}

size_t rows_of(hid_t dataset, const char* name) {
  const Handle space(H5Dget_space(dataset), H5Sclose, std::string("read table ") + name);
  if (H5Sget_simple_extent_ndims(space) != 1) {
    throw Failure(std::string("table ") + name + " is not a list");
  }
  return static_cast<size_t>(H5Sget_simple_extent_npoints(space));
}

void read_all(hid_t dataset, const char* name, hid_t type, void* out,
              hid_t transfer = H5P_DEFAULT) {
  check(H5Dread(dataset, type, H5S_ALL, H5S_ALL, transfer, out), std::string("read table ") + name);
}

// Copies fields by name out of rows whose layout is another: a minor version older or newer than
// ours.
void copy_by_name(const char* raw, const char* name, std::span<const Field> fields, hid_t file_type,
                  size_t row_size, char* rows, size_t count) {
  const size_t file_row_size = H5Tget_size(file_type);
  for (const Field& field : fields) {
    const int member = H5Tget_member_index(file_type, field.name);
    if (member < 0) continue;
    const auto index = static_cast<unsigned>(member);
    const Handle ours = field.type();
    const Handle theirs(H5Tget_member_type(file_type, index), H5Tclose, "read a field");
    const size_t size = H5Tget_size(ours);
    if (H5Tget_size(theirs) != size) {
      throw Failure(std::string("field ") + field.name + " of table " + name +
                    " has an unexpected size");
    }
    const size_t offset = H5Tget_member_offset(file_type, index);
    for (size_t row = 0; row < count; ++row) {
      std::memcpy(rows + row * row_size + field.offset, raw + row * file_row_size + offset, size);
    }
  }
}

void check_fields(hid_t type, const char* name) {
  if (H5Tget_class(type) != H5T_COMPOUND) {
    throw Failure(std::string("table ") + name + " has no fields");
  }
}

}  // namespace

Handle row_type(std::span<const Field> fields, size_t row_size) {
  Handle type(H5Tcreate(H5T_COMPOUND, row_size), H5Tclose, "create a row type");
  for (const Field& field : fields) {
    check(H5Tinsert(type, field.name, field.offset, field.type()), "create a row type");
  }
  return type;
}

void write_list(hid_t file, const char* name, hid_t type, const void* values, size_t count,
                hid_t transfer) {
  const Handle space = list_space(count);
  const Handle dataset(H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                       H5Dclose, std::string("create table ") + name);
  if (count == 0) return;
  check(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, transfer, values),
        std::string("write table ") + name);
}

void write_rows(hid_t file, const char* name, std::span<const Field> fields, size_t row_size,
                const void* rows, size_t count) {
  write_list(file, name, row_type(fields, row_size), rows, count);
}

void write_texts(hid_t file, const char* name, const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  pointers.reserve(texts.size());
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  write_list(file, name, text_type(), pointers.data(), pointers.size(), text_transfer());
}

size_t count_rows(hid_t file, const char* name) {
  return rows_of(open_table(file, name), name);
}

void read_rows(hid_t file, const char* name, std::span<const Field> fields, size_t row_size,
               void* rows, size_t count) {
  if (count == 0) return;
  const Handle dataset = open_table(file, name);
  const Handle ours = row_type(fields, row_size);
  const Handle theirs(H5Dget_type(dataset), H5Tclose, std::string("read table ") + name);
  check_fields(theirs, name);
  if (H5Tequal(ours, theirs) > 0) {
    read_all(dataset, name, ours, rows);
    return;
  }
  std::vector<char> raw(H5Tget_size(theirs) * count);
  read_all(dataset, name, theirs, raw.data());
  copy_by_name(raw.data(), name, fields, theirs, row_size, static_cast<char*>(rows), count);
}

void read_row_attribute(hid_t owner, const char* name, std::span<const Field> fields,
                        size_t row_size, void* row) {
  const std::string deed = std::string("read attribute ") + name;
  const Handle attribute(H5Aopen(owner, name, H5P_DEFAULT), H5Aclose, deed);
  const Handle type(H5Aget_type(attribute), H5Tclose, deed);
  const Handle space(H5Aget_space(attribute), H5Sclose, deed);
  check_fields(type, name);
  if (H5Sget_simple_extent_npoints(space) != 1) throw Failure("cannot " + deed);
  std::vector<char> raw(H5Tget_size(type));
  check(H5Aread(attribute, type, raw.data()), deed);
  copy_by_name(raw.data(), name, fields, type, row_size, static_cast<char*>(row), 1);
}

std::vector<std::string> read_texts(hid_t file, const char* name) {
  const Handle dataset = open_table(file, name);
  std::vector<char*> pointers(rows_of(dataset, name), nullptr);
  if (pointers.empty()) return {};
  const Handle type = text_type();
  read_all(dataset, name, type, pointers.data(), text_transfer());
  std::vector<std::string> texts;
  texts.reserve(pointers.size());
  for (const char* pointer : pointers) texts.emplace_back(pointer != nullptr ? pointer : "");
  const Handle space(H5Dget_space(dataset), H5Sclose, std::string("read table ") + name);
  H5Dvlen_reclaim(type, space, H5P_DEFAULT, pointers.data());
  return texts;
}

}  // namespace nanhunt::trace::h5
