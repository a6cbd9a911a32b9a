// SPDX-License-Identifier: Apache-2.0
// The ledger of a work folder: one JSON line per run that came to its end, so that a hunt that was
// stopped goes on where it was. A run is known by the hash of all that decides its outcome.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "ablate/child.h"
#include "ablate/settings.h"

namespace nanhunt::ablate {

// 16 hexadecimal digits (XXH3, 64 bits).
std::string hash_of(const std::string& text);
// Path, size and time of last change of each word that names a file: a rebuilt program is another
// one.
std::string program_identity(const CommandLine& line);

struct LedgerEntry {
  std::string key;
  std::string purpose;   // "off layout.sp"
  std::string settings;  // describe(settings)
  ChildOutcome outcome;
};

// Thread safe. A last line cut off by a killed process is skipped.
class Ledger {
 public:
  // Throws Error(kInternal) when the file cannot be written.
  explicit Ledger(std::filesystem::path file);
  std::optional<LedgerEntry> find(const std::string& key) const;
  void add(const LedgerEntry& entry);
  // Median seconds of the runs so far; 0 without any.
  double typical_seconds() const;

 private:
  std::filesystem::path file_;
  mutable std::mutex mutex_;
  std::map<std::string, LedgerEntry> entries_;
};

}  // namespace nanhunt::ablate
