// SPDX-License-Identifier: Apache-2.0
// Recorders of this process. A calibration runs the program several times, one recorder and trace
// folder each; the ranks of a process share the recorder of a repeat.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "hooks/recorder.h"

namespace nanhunt::mini {

class RunRecorders {
 public:
  // The plan of the environment. `ranks`: how many ranks this process runs.
  RunRecorders(std::optional<trace::CapturePlan> plan, int ranks);

  int repeats() const;
  // The recorder of a repeat; the first to ask makes it.
  hooks::Recorder& of_repeat(int repeat);
  // A rank is through with a repeat; the last one closes the recorder.
  void leave(int repeat);

 private:
  struct Entry {
    std::unique_ptr<hooks::Recorder> recorder;
    int ranks_left = 0;
  };

  const std::optional<trace::CapturePlan> plan_;
  const int ranks_;
  std::mutex mutex_;
  std::map<int, Entry> entries_;
};

}  // namespace nanhunt::mini
