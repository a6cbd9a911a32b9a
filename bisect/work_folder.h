// SPDX-License-Identifier: Apache-2.0
// The folder of a search: outputs of its runs, its checkout. One process at a time has it, because
// the checkout lies at one place.
#pragma once

#include <cstdint>
#include <filesystem>

namespace nanhunt::bisect {

class WorkFolder {
 public:
  // Makes it. Throws Error(kInternal) when it cannot be made, Error(kUsage) when it is in use.
  explicit WorkFolder(const std::filesystem::path& folder);
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }  // absolute
  std::filesystem::path outputs() const { return path_ / "runs"; }
  std::filesystem::path checkout() const { return path_ / "checkout"; }
  // Where a run's standard output goes, ".out", and its errors, ".err".
  std::filesystem::path output_of(size_t item, int64_t run, const char* ending) const;

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace nanhunt::bisect
