// SPDX-License-Identifier: Apache-2.0
// The test vectors of docs/trace_format.md, read from the document itself.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "trace/fingerprint.h"

namespace nanhunt::trace {
namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line.size() < 2 || line[0] != '|' ? "" : line.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) {
    const size_t begin = cell.find_first_not_of(' ');
    cells.push_back(begin == std::string::npos
                        ? ""
                        : cell.substr(begin, cell.find_last_not_of(' ') - begin + 1));
  }
  return cells;
}

std::vector<std::vector<std::string>> table_rows(size_t columns) {
  std::ifstream in(NANHUNT_SOURCE_DIR "/docs/trace_format.md");
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> cells = cells_of(line);
    if (cells.size() == columns) rows.push_back(std::move(cells));
  }
  return rows;
}

Prints print_at(int64_t first, DType dtype, const std::vector<std::byte>& bytes, bool portable) {
  const auto count = static_cast<int64_t>(bytes.size() / size_of(dtype));
  Placement placement = whole({}, {first + count});
  placement.regions[0] = {{0}, {first}, {count}};
  PrintOptions options;
  options.portable = portable;
  return fingerprint(contiguous_view(bytes.data(), dtype, {count}), placement, options);
}

TEST(FingerprintVectors, DigestsOfTheDocument) {
  std::set<DType> seen;
  for (const std::vector<std::string>& row : table_rows(6)) {
    const std::optional<DType> dtype = dtype_from_name(row[0]);
    if (!dtype) continue;
    seen.insert(*dtype);
    std::vector<std::byte> bytes;
    std::istringstream codes(row[2]);
    for (std::string code; codes >> code;) {
      const uint64_t word = std::stoull(code, nullptr, 16);
      bytes.resize(bytes.size() + size_of(*dtype));
      std::memcpy(bytes.data() + bytes.size() - size_of(*dtype), &word, size_of(*dtype));
    }
    const auto hex = [](const std::string& text) { return std::stoull(text, nullptr, 16); };
    const int64_t first = std::stoll(row[1]);
    for (bool portable : {true, false}) {
      SCOPED_TRACE(row[0] + " " + row[1] + " " + row[2]);
      const Prints prints = print_at(first, *dtype, bytes, portable);
      EXPECT_EQ(prints.regions[0].value_digest, hex(row[3]));
      EXPECT_EQ(prints.regions[0].mask_digest, hex(row[4]));
      EXPECT_EQ(prints.raw_digest, hex(row[5]));
      EXPECT_NE(print_at(first + 1, *dtype, bytes, portable).regions[0].value_digest, hex(row[3]));
    }
  }
  EXPECT_EQ(seen.size(), 12u) << "a type without a vector";
}

TEST(FingerprintVectors, BucketsAndSignsOfTheDocument) {
  int seen = 0;
  const float one = 1;
  std::vector<std::byte> bytes(4);
  std::memcpy(bytes.data(), &one, 4);
  for (const std::vector<std::string>& row : table_rows(3)) {
    if (row[2] != "+" && row[2] != "-") continue;
    ++seen;
    for (bool portable : {true, false}) {
      const Sketch sketch =
          print_at(std::stoll(row[0]), DType::kFloat32, bytes, portable).regions[0].sketch;
      for (int bucket = 0; bucket < kSketchBuckets; ++bucket) {
        const double expected =
            bucket != std::stoi(row[1]) ? 0 : row[2] == "+" ? 1 : -1;
        EXPECT_EQ(sketch[bucket], expected) << row[0] << " bucket " << bucket;
      }
    }
  }
  EXPECT_GE(seen, 5);
}

}  // namespace
}  // namespace nanhunt::trace
