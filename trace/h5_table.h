// SPDX-License-Identifier: Apache-2.0
// Tables: one-dimensional, contiguous HDF5 datasets of compound rows, described by a list of
// fields; and lists of text. Little-endian on disk and in memory, so that rows move without
// conversion.
#pragma once

#include <bit>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "trace/h5.h"

namespace nanhunt::trace::h5 {

static_assert(std::endian::native == std::endian::little, "rows are written as they lie in memory");

struct Field {
  const char* name;
  size_t offset;     // in the row's struct
  Handle (*type)();  // of the element
};

Handle row_type(std::span<const Field> fields, size_t row_size);

void write_rows(hid_t file, const char* name, std::span<const Field> fields, size_t row_size,
                const void* rows, size_t count);
void write_texts(hid_t file, const char* name, const std::vector<std::string>& texts);

size_t count_rows(hid_t file, const char* name);
// Fills rows that already hold defaults. Fields are found by name: those that the file lacks keep
// their default, those that only the file has are skipped. `rows` holds count_rows() rows.
void read_rows(hid_t file, const char* name, std::span<const Field> fields, size_t row_size,
               void* rows, size_t count);
// One row in an attribute of the object `owner`.
void read_row_attribute(hid_t owner, const char* name, std::span<const Field> fields,
                        size_t row_size, void* row);
std::vector<std::string> read_texts(hid_t file, const char* name);

template <typename Row>
void write_table(hid_t file, const char* name, std::span<const Field> fields,
                 const std::vector<Row>& rows) {
  write_rows(file, name, fields, sizeof(Row), rows.data(), rows.size());
}

template <typename Row>
std::vector<Row> read_table(hid_t file, const char* name, std::span<const Field> fields) {
  std::vector<Row> rows(count_rows(file, name));
  read_rows(file, name, fields, sizeof(Row), rows.data(), rows.size());
  return rows;
}

// Plain lists of 64-bit numbers.
void write_list(hid_t file, const char* name, hid_t type, const void* values, size_t count,
                hid_t transfer = H5P_DEFAULT);
template <typename Number>
std::vector<Number> read_list(hid_t file, const char* name, hid_t type) {
  std::vector<Number> values(count_rows(file, name));
  if (values.empty()) return values;
  const Handle dataset(H5Dopen2(file, name, H5P_DEFAULT), H5Dclose, "open table");
  check(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
        std::string("read table ") + name);
  return values;
}

}  // namespace nanhunt::trace::h5
