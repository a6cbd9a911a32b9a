// SPDX-License-Identifier: Apache-2.0
#include "hooks/trigger_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace nanhunt::hooks {

TriggerFiles::TriggerFiles(std::filesystem::path trace) : trace_(std::move(trace)) {
  std::error_code ignored;
  while (std::filesystem::exists(path_of_next(), ignored)) ++next_;
}

std::filesystem::path TriggerFiles::path_of_next() const {
  char name[32];
  std::snprintf(name, sizeof name, "trigger-%03d.txt", next_);
  return trace_ / name;
}

void TriggerFiles::announce(const Fired& fired) {
  std::error_code ignored;
  std::filesystem::create_directories(trace_, ignored);
  const std::string text =
      fired.trigger + "\nstep " + std::to_string(fired.step) + '\n' + fired.detail + '\n';
  const int file = ::open(path_of_next().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return;  // another process was first, and will be heard
  [[maybe_unused]] const auto written = ::write(file, text.data(), text.size());
  ::close(file);
  ++next_;
}

std::optional<Fired> TriggerFiles::heard() {
  std::ifstream file(path_of_next());
  Fired fired;
  std::string word;
  if (!std::getline(file, fired.trigger) || !(file >> word >> fired.step)) return std::nullopt;
  file.ignore();
  // The last line ends in a newline once all is written.
  if (!std::getline(file, fired.detail) || file.eof()) return std::nullopt;
  ++next_;
  return fired;
}

}  // namespace nanhunt::hooks
