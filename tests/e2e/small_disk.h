// SPDX-License-Identifier: Apache-2.0
// A disk of a few kilobytes. Only root may mount one: mounted() says whether it is there.
#pragma once

#include <sys/mount.h>

#include <string>

#include "tests/e2e/program.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::e2e {

class SmallDisk {
 public:
  explicit SmallDisk(int64_t kilobytes) {
    const std::string size = "size=" + std::to_string(kilobytes) + "k";
    mounted_ = ::mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, size.c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(folder_.path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }
  fs::path operator/(const std::string& name) const { return folder_ / name; }

 private:
  ScratchFolder folder_;
  bool mounted_ = false;
};

}  // namespace nanhunt::e2e
