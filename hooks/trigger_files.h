// SPDX-License-Identifier: Apache-2.0
// How the processes of a job tell each other that a trigger fired: TRACE/trigger-000.txt, -001, ...
// beside the segments, made by the process that saw it. No message, no collective: each writer
// looks now and then whether the next number is there. On a folder that the processes do not share,
// each is on its own. Never throws.
#pragma once

#include <filesystem>
#include <optional>

#include "hooks/trigger_watch.h"

namespace nanhunt::hooks {

class TriggerFiles {
 public:
  // Files that are there already are of an earlier run and mean nothing.
  explicit TriggerFiles(std::filesystem::path trace);

  void announce(const Fired& fired);
  // What another process announced since; one a call.
  std::optional<Fired> heard();

 private:
  std::filesystem::path path_of_next() const;

  std::filesystem::path trace_;
  int next_ = 0;
};

}  // namespace nanhunt::hooks
