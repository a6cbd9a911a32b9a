// SPDX-License-Identifier: Apache-2.0
#include "ablate/process_tree.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace nanhunt::ablate {
namespace {

namespace fs = std::filesystem;

// Field 22 of /proc/PID/stat; 0 when the process is gone. The name in field 2 may hold anything.
uint64_t start_time(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(line.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  uint64_t started = 0;
  fields >> started;
  return started;
}

void add_children(pid_t parent, std::vector<Process>& found) {
  std::error_code gone;
  for (fs::directory_iterator thread("/proc/" + std::to_string(parent) + "/task", gone), end;
       !gone && thread != end; thread.increment(gone)) {
    std::ifstream children(thread->path() / "children");
    for (pid_t child = 0; children >> child;) found.push_back({child, start_time(child)});
  }
}

}  // namespace

std::vector<Process> descendants(pid_t root) {
  std::vector<Process> found;
  add_children(root, found);
  for (size_t i = 0; i < found.size(); ++i) add_children(found[i].pid, found);
  return found;
}

void kill_all(const std::vector<Process>& processes) {
  for (const Process& process : processes) {
    if (process.started != 0 && start_time(process.pid) == process.started)
      ::kill(process.pid, SIGKILL);
  }
}

}  // namespace nanhunt::ablate
