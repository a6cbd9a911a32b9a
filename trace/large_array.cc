// SPDX-License-Identifier: Apache-2.0
#include "trace/large_array.h"

#include <sys/mman.h>

#include <cstdint>

namespace nanhunt::trace {
namespace {

constexpr uintptr_t kHugePage = uintptr_t{1} << 21;

// A hint: a system that does not know it, or has none left, gives small pages as before.
void prefer_huge_pages(const void* begin, size_t bytes) {
  const auto from = (reinterpret_cast<uintptr_t>(begin) + kHugePage - 1) & ~(kHugePage - 1);
  const auto to = (reinterpret_cast<uintptr_t>(begin) + bytes) & ~(kHugePage - 1);
  if (to > from) madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);
}

}  // namespace

void resize_for_overwrite(std::vector<double>& array, size_t count) {
  if (count > array.capacity()) {
    array.clear();
    array.reserve(count);
    prefer_huge_pages(array.data(), count * sizeof(double));
  }
  array.resize(count);
}

}  // namespace nanhunt::trace
