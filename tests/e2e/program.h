// SPDX-License-Identifier: Apache-2.0
// Programs as a user starts them: words in, exit status and text out. Nothing of ours is linked.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/support/scratch_folder.h"

namespace nanhunt::e2e {

namespace fs = std::filesystem;

using Environment = std::map<std::string, std::string>;

struct Ended {
  int status = -1;  // 128 + signal when a signal ended it
  std::string output, errors;
};

// A program that is running; it ends with this object at the latest.
class Program {
 public:
  explicit Program(const std::vector<std::string>& words, const Environment& added = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  std::string output_so_far() const;
  bool running();
  Ended wait();

 private:
  ScratchFolder folder_;
  pid_t pid_ = -1;
  int wait_status_ = 0;
};

Ended run(const std::vector<std::string>& words, const Environment& added = {});
// build/cli/nanhunt with these words
Ended nanhunt(const std::vector<std::string>& words, const Environment& added = {});

fs::path build_folder();  // NANHUNT_BUILD_DIR
fs::path cases_folder();  // of the source tree
fs::path data_folder();   // tests/e2e/data

void write(const fs::path& file, const std::string& text);
std::string read(const fs::path& file);
std::string joined(const std::vector<std::string>& words);

}  // namespace nanhunt::e2e
