// SPDX-License-Identifier: Apache-2.0
// The error that a user or the world can cause: one line of text that already carries its context
// (file, rank, step, site), and the exit status it ends in. Thrown by analysis code; code inside
// the training process catches it, marks the trace and lets training go on.
#pragma once

#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace nanhunt::trace {

// Exit statuses of the command line, docs/verdict.md.
enum class ErrorKind {
  kUsage = 2,       // options, case or subject file
  kUnreadable = 3,  // missing, truncated, foreign or newer trace
  kInternal = 4,    // nanhunt itself, or the machine (disk full)
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

// For a stream that has just failed: says why, by errno.
inline Error cannot_write(const std::filesystem::path& path) {
  return Error(ErrorKind::kInternal,
               path.string() + ": cannot be written: " + std::generic_category().message(errno));
}

}  // namespace nanhunt::trace
