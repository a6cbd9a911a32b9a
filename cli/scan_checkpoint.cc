// SPDX-License-Identifier: Apache-2.0
#include "cli/scan_checkpoint.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "checkpoint/layout.h"
#include "checkpoint/scan.h"
#include "cli/progress.h"
#include "trace/error.h"

namespace nanhunt::cli {
namespace {

namespace fs = std::filesystem;

// Segments, and what a killed writer left of one: the reader of traces knows what to say of it.
bool holds_segments(const fs::path& step) {
  for (const auto& entry : fs::directory_iterator(step)) {
    const std::string name = entry.path().filename().string();
    if (name.find("rank-") != std::string::npos && name.find(".h5") != std::string::npos) {
      return true;
    }
  }
  return false;
}

bool holds_trace(const fs::path& path) {
  if (!fs::is_directory(path)) return false;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (!entry.is_directory() || !entry.path().filename().string().starts_with("step-")) continue;
    if (holds_segments(entry.path())) return true;
  }
  return false;
}

}  // namespace

Scanned what_to_scan(const fs::path& path) {
  if (!fs::exists(path) || holds_trace(path)) return Scanned::kTrace;
  if (checkpoint::holds_checkpoint(path)) return Scanned::kCheckpoint;
  throw trace::Error(trace::ErrorKind::kUsage, checkpoint::why_no_checkpoint(path));
}

int scan_checkpoint(const Parsed& parsed, const fs::path& path) {
  ProgressPrinter progress;
  checkpoint::ScanOptions options;
  if (parsed.has("rules")) options.rules = checkpoint::read_rules_file(parsed.text("rules"));
  if (parsed.has("before")) {
    options.before = parsed.text("before");
    if (!checkpoint::holds_checkpoint(options.before)) {
      throw trace::Error(trace::ErrorKind::kUsage,
                         "--before: " + checkpoint::why_no_checkpoint(options.before));
    }
  }
  options.progress = [&](const std::string& file, int done, int total) {
    progress.print({"reading " + file, done, total});
  };
  const checkpoint::Report report = checkpoint::scan(path, options);
  if (parsed.flag("json")) {
    std::printf("%s\n", checkpoint::to_json(report).dump(2).c_str());
  } else {
    std::fputs(checkpoint::to_text(report).c_str(), stdout);
  }
  return compare::exit_status(report.kind);
}

}  // namespace nanhunt::cli
