// SPDX-License-Identifier: Apache-2.0
// The rows of a curve's file (curve.h), as they stand there.
//
// JSON lines: one object a line. A number may also be the bare words NaN, Infinity and -Infinity,
// which Python's json module writes though JSON has none, or a string that holds a number. CSV: a
// header names the columns; fields may be quoted; an empty field is no value. Blank lines, a byte
// order mark and carriage returns at line ends are skipped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "repro/curve.h"

namespace nanhunt::repro {

struct Row {
  int line = 0;  // from 1
  int64_t step = 0;
  std::optional<double> loss, quality;
};

// Throws Error(kUnreadable) with file and line.
std::vector<Row> read_rows(const std::filesystem::path& path, const ColumnNames& names);

}  // namespace nanhunt::repro
