// SPDX-License-Identifier: Apache-2.0
// Segments made by hand for the tests of files: small, with every kind of content.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trace/error.h"
#include "trace/segment.h"

namespace nanhunt::trace::test {

// `count` distinct bytes-worth of elements; NaN and Inf codes among them for floats of one or two
// bytes.
std::vector<std::byte> pattern_bytes(size_t count, unsigned seed);

// A segment with one record per dtype (values captured), a scalar, an empty tensor, records without
// placement, with each placement kind, links, collectives, facts and dropped counts.
Segment rich_segment(int64_t step, int32_t rank, int32_t index, int32_t world_size);

// `rows` records of one region each, no values, sequences from `first_sequence` on.
Segment plain_segment(int64_t step, int32_t rank, int32_t index, int32_t world_size, int rows,
                      int64_t first_sequence, CutReason cut);

void write_bytes(const std::filesystem::path& path, const std::string& bytes);
std::string read_bytes(const std::filesystem::path& path);

// Text of the trace::Error that `function` throws; "" when it throws none.
template <typename Function>
std::string error_text(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace nanhunt::trace::test
