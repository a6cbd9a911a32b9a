// SPDX-License-Identifier: Apache-2.0
// `nanhunt scan` of a checkpoint or a capsule (checkpoint/scan.h), and the look that tells one from
// a trace.
#pragma once

#include <filesystem>

#include "cli/options.h"

namespace nanhunt::cli {

enum class Scanned { kTrace, kCheckpoint, kPickles };
// What the path holds, by names alone: a folder with step-*/rank-*.h5 is a trace (or capsules),
// else what holds a safetensors file is a checkpoint, else what holds pickle files is one that only
// Python reads. A path that does not exist is left to the reader of traces, which says so. Throws
// Error(kUsage) for anything else, naming what was looked for.
Scanned what_to_scan(const std::filesystem::path& path);

// Prints the report; the exit status.
int scan_checkpoint(const Parsed& parsed, const std::string& path);
// Of a capsule, FOLDER or FOLDER@STEP: first what it is made of.
int scan_capsule(const Parsed& parsed, const std::string& name);

}  // namespace nanhunt::cli
