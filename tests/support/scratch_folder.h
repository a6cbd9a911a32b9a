// SPDX-License-Identifier: Apache-2.0
// The one way by which a test gets a place for its files.
//
// ctest runs each test in a process of its own and several at once, so that a fixed file name below
// the temporary directory is shared by tests that never see each other, and by two checkouts on one
// machine. A ScratchFolder is shared by nobody: mkdtemp makes it under a name that was free, empty,
// for the owner alone (mode 0700), below the temporary directory (TMPDIR, else /tmp).
//
// It belongs to the object that made it, and goes with it, and so do the files in it: whatever
// reads them lives no longer. In a fixture it is declared before the members that write into it,
// child processes above all. What cannot be removed is left; a test that is killed leaves its
// folder, which disturbs no other.
//
// Errors: std::system_error when there is no place to make it; a test that lets it pass has failed.
#pragma once

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace nanhunt {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "nanhunt-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), "no scratch folder " + name);
    }
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // A place in it; nothing is made.
  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace nanhunt
