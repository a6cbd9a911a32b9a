// SPDX-License-Identifier: Apache-2.0
#include "trace/file_bytes.h"

#include <unistd.h>

#include <cerrno>

namespace nanhunt::trace {

ssize_t read_at(int descriptor, void* out, size_t size, int64_t offset) {
  size_t done = 0;
  while (done < size) {
    const ssize_t got = pread(descriptor, static_cast<char*>(out) + done, size - done,
                              static_cast<off_t>(offset) + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return static_cast<ssize_t>(done);
}

}  // namespace nanhunt::trace
