// SPDX-License-Identifier: Apache-2.0
// Reading bytes of an open file at a place of it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace nanhunt::trace {

// Reads up to `size` bytes, fewer only at the end of the file; -1 when reading fails (errno).
ssize_t read_at(int descriptor, void* out, size_t size, int64_t offset);

}  // namespace nanhunt::trace
