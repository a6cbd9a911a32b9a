// SPDX-License-Identifier: Apache-2.0
#include "bisect/work_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <string>

#include "trace/error.h"

namespace nanhunt::bisect {

WorkFolder::WorkFolder(const std::filesystem::path& folder)
    : path_(std::filesystem::absolute(folder)) {
  std::error_code error;
  std::filesystem::create_directories(outputs(), error);
  if (error) {
    throw trace::Error(trace::ErrorKind::kInternal,
                       folder.string() + ": cannot be made: " + error.message());
  }
  const std::filesystem::path lock = path_ / "lock";
  lock_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) throw trace::cannot_write(lock);
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock_);
    throw trace::Error(trace::ErrorKind::kUsage,
                       folder.string() + ": in use by another search; --out names another folder");
  }
}

WorkFolder::~WorkFolder() {
  ::close(lock_);
}

std::filesystem::path WorkFolder::output_of(size_t item, int64_t run, const char* ending) const {
  return outputs() / (std::to_string(item + 1) + "-" + std::to_string(run) + ending);
}

}  // namespace nanhunt::bisect
