// SPDX-License-Identifier: Apache-2.0
// The golden file: JSON on one line (docs/golden.md), with the SHA-256 of its content in front.
#pragma once

#include <filesystem>

#include "golden/golden.h"

namespace nanhunt::golden {

inline constexpr int kFileVersion = 1;

struct Written {
  int64_t bytes = 0;
  std::string sha256;  // of the content
};

// Under a temporary name, then renamed. Throws Error(kInternal) when it cannot be written.
Written write_golden(const Golden& golden, const std::filesystem::path& path);

// Throws Error(kUnreadable), one line naming the file: missing, no golden file, of a newer version,
// cut short or changed since it was written.
Golden read_golden(const std::filesystem::path& path);

}  // namespace nanhunt::golden
