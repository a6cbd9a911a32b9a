// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

extern char** environ;

namespace nanhunt::e2e {
namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

// Ours, less what a user's shell might have set for nanhunt.
std::vector<std::string> environment_with(const Environment& added) {
  std::vector<std::string> entries;
  for (char** variable = environ; *variable; ++variable) {
    const std::string entry = *variable;
    if (!entry.starts_with("NANHUNT_")) entries.push_back(entry);
  }
  for (const auto& [name, value] : added) entries.push_back(name + "=" + value);
  return entries;
}

}  // namespace

Program::Program(const std::vector<std::string>& words, const Environment& added) {
  std::vector<std::string> arguments = words, entries = environment_with(added);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const std::string output = folder_ / "output", errors = folder_ / "errors";
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_CREAT | O_WRONLY, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, errors.c_str(), O_CREAT | O_WRONLY, 0600);
  const int error = ::posix_spawnp(&pid_, words.front().c_str(), &actions, nullptr,
                                   pointers(arguments).data(), pointers(entries).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error(words.front() + ": cannot be started");
}

Program::~Program() {
  if (running()) {
    ::kill(pid_, SIGKILL);
    wait();
  }
}

std::string Program::output_so_far() const {
  return read(folder_ / "output");
}

bool Program::running() {
  if (pid_ <= 0) return false;
  if (::waitpid(pid_, &wait_status_, WNOHANG) == pid_) pid_ = -1;
  return pid_ > 0;
}

Ended Program::wait() {
  if (pid_ > 0) ::waitpid(pid_, &wait_status_, 0);
  pid_ = -1;
  const int status =
      WIFEXITED(wait_status_) ? WEXITSTATUS(wait_status_) : 128 + WTERMSIG(wait_status_);
  return {status, read(folder_ / "output"), read(folder_ / "errors")};
}

Ended run(const std::vector<std::string>& words, const Environment& added) {
  return Program(words, added).wait();
}

Ended nanhunt(const std::vector<std::string>& words, const Environment& added) {
  std::vector<std::string> all = {(build_folder() / "cli/nanhunt").string()};
  all.insert(all.end(), words.begin(), words.end());
  return run(all, added);
}

fs::path build_folder() {
  return NANHUNT_BUILD_DIR;
}
fs::path cases_folder() {
  return fs::path(NANHUNT_SOURCE_DIR) / "cases";
}
fs::path data_folder() {
  return fs::path(NANHUNT_SOURCE_DIR) / "tests/e2e/data";
}

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

std::string read(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace nanhunt::e2e
