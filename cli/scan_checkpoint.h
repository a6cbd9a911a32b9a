// SPDX-License-Identifier: Apache-2.0
// `nanhunt scan` of a checkpoint (checkpoint/scan.h), and the look that tells one from a trace.
#pragma once

#include <filesystem>

#include "cli/options.h"

namespace nanhunt::cli {

enum class Scanned { kTrace, kCheckpoint };
// What the path holds, by names alone: a folder with step-*/rank-*.h5 is a trace, else what holds a
// safetensors file is a checkpoint. A path that does not exist is left to the reader of traces,
// which says so. Throws Error(kUsage) for anything else, naming what was looked for.
Scanned what_to_scan(const std::filesystem::path& path);

// Prints the report; the exit status.
int scan_checkpoint(const Parsed& parsed, const std::filesystem::path& path);

}  // namespace nanhunt::cli
