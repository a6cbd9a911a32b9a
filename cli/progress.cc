// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace nanhunt::cli {

constexpr int kBarWidth = 20;

std::string bar_of(int done, int total) {
  const int filled = total > 0 ? std::clamp(done * kBarWidth / total, 0, kBarWidth) : 0;
  return "[" + std::string(static_cast<size_t>(filled), '#') +
         std::string(static_cast<size_t>(kBarWidth - filled), '-') + "] " + std::to_string(done) +
         "/" + std::to_string(total);
}

ProgressPrinter::ProgressPrinter() : terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressPrinter::~ProgressPrinter() {
  if (bar_shown_) std::fputs("\r\033[K", stderr);
}

void ProgressPrinter::print(const ablate::Progress& progress) {
  const std::lock_guard lock(mutex_);
  if (bar_shown_) std::fputs("\r\033[K", stderr);
  std::fprintf(stderr, "nanhunt: %s\n", progress.text.c_str());
  bar_shown_ = terminal_ && progress.total > 0;
  if (bar_shown_) std::fprintf(stderr, "%s", bar_of(progress.done, progress.total).c_str());
  std::fflush(stderr);
}

ablate::ProgressSink ProgressPrinter::sink() {
  return [this](const ablate::Progress& progress) { print(progress); };
}

}  // namespace nanhunt::cli
