// SPDX-License-Identifier: Apache-2.0
// Lists of text of any length, as HDF5 keeps them in a file, read without its library: that follows
// the references in them unchecked (nothing in them has a checksum), and one changed byte of a file
// would end the process.
//
// An element is 16 bytes: length (4), address of a collection in the file (8), index in it (4). A
// collection: "GCOL", version 1, 3 bytes, its size (8); then objects, each index (2), references
// (2), 4 bytes, size (8), data to a multiple of 8; index 0 is what is free behind them. All little
// endian. ("Global Heap" of the HDF5 file format specification, with addresses of 8 bytes.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nanhunt::trace {

// `count` elements that lie at `offset` of the open file. Throws h5::Failure naming what is wrong.
std::vector<std::string> read_text_list(int descriptor, int64_t offset, size_t count);

}  // namespace nanhunt::trace
