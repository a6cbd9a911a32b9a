// SPDX-License-Identifier: Apache-2.0
// The ledger of a search: a file of JSON lines. The first names the list and the command, each
// further one is a run that came to its end. It holds what was seen, not what was concluded, so
// that other rates or another meaning of statuses judge the same runs anew. A line is appended by
// one write: a search that is stopped at any time leaves a file that can be read; the rest of a
// line that was cut off is removed when the file is opened.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "ablate/child.h"
#include "bisect/command_template.h"
#include "bisect/items.h"

namespace nanhunt::bisect {

struct KnownRun {
  ablate::ChildOutcome outcome;
  double limit_s = 0;  // its time limit
};

// Throws Error(kUsage) when the file belongs to another list or command, or is in use by another
// process; Error(kUnreadable) when it is no such ledger; Error(kInternal) when it cannot be
// written.
class RunLedger {
 public:
  RunLedger(std::filesystem::path file, const Items& items, const Words& command);
  ~RunLedger();
  RunLedger(const RunLedger&) = delete;
  RunLedger& operator=(const RunLedger&) = delete;

  // Run number `run` of an item, from 1.
  std::optional<KnownRun> find(size_t item, int64_t run) const;
  // Replaces what was known of that run.
  void add(size_t item, int64_t run, const KnownRun& known);
  size_t size() const { return runs_.size(); }

 private:
  void read(const std::string& header);
  void read_run(const std::string& line, int number);
  void append(const std::string& line);

  std::filesystem::path file_;
  int descriptor_ = -1;
  const Items& items_;
  std::map<std::pair<size_t, int64_t>, KnownRun> runs_;
};

}  // namespace nanhunt::bisect
