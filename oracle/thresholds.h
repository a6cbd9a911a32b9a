// SPDX-License-Identifier: Apache-2.0
// Every number that a verdict hangs on that is not derived: one file installed beside the program
// (share/nanhunt/thresholds.json), which a case may override. The SHA-256 of the merged, sorted
// `key=value` lines is printed with every result; judging with other numbers than the case's own
// marks the result exploratory.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace nanhunt::oracle {

class Thresholds {
 public:
  // Throws Error(kUsage) naming the file, or the key that is not known.
  static Thresholds read(const std::filesystem::path& path);
  // The installed file: beside the program's share folder, or the one the build was configured
  // with.
  static Thresholds installed();

  void override_with(const std::string& key, double value);  // Error(kUsage) on an unknown key
  double operator[](const std::string& key) const;           // unknown key: broken invariant
  std::string sha256() const;
  const std::map<std::string, double>& values() const { return values_; }

 private:
  std::map<std::string, double> values_;
};

}  // namespace nanhunt::oracle
