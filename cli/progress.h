// SPDX-License-Identifier: Apache-2.0
// Progress on stderr: one line each, and a bar that rewrites itself when stderr is a terminal.
#pragma once

#include <mutex>
#include <string>

#include "ablate/runner.h"

namespace nanhunt::cli {

// Thread safe.
class ProgressPrinter {
 public:
  ProgressPrinter();
  ~ProgressPrinter();
  void print(const ablate::Progress& progress);
  ablate::ProgressSink sink();

 private:
  std::mutex mutex_;
  bool terminal_ = false;
  bool bar_shown_ = false;
};

// "[#####---------------] 5/20"
std::string bar_of(int done, int total);

}  // namespace nanhunt::cli
