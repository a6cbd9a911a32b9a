// SPDX-License-Identifier: Apache-2.0
// The commands of `nanhunt`, in one table. Result on stdout, progress on stderr; exit statuses:
// 0 clean or passes, 1 finding or fails, 2 usage, 3 unreadable or incomplete input without a
// finding, 4 internal error, 125 cannot tell.
#pragma once

#include <string>
#include <vector>

namespace nanhunt::cli {

inline constexpr int kCannotTell = 125;

struct Command {
  std::string name;
  std::string arguments;  // "CASE"
  std::string summary;
  int (*run)(const std::vector<std::string>& arguments);  // throws trace::Error
};

const std::vector<Command>& commands();

// One file each.
int run_command(const std::vector<std::string>& arguments);
int capture_command(const std::vector<std::string>& arguments);
int scan_command(const std::vector<std::string>& arguments);
int compare_command(const std::vector<std::string>& arguments);
int ablate_command(const std::vector<std::string>& arguments);
int repro_command(const std::vector<std::string>& arguments);
int bisect_command(const std::vector<std::string>& arguments);
int show_command(const std::vector<std::string>& arguments);
int cases_command(const std::vector<std::string>& arguments);
int golden_command(const std::vector<std::string>& arguments);
int report_command(const std::vector<std::string>& arguments);
int doctor_command(const std::vector<std::string>& arguments);

// Chooses and runs the command; turns errors into messages and statuses. With --bisect everything
// but 0 and 1 becomes 125, for `git bisect run`; what follows a `--` is not looked at, as it may be
// the command line of another program.
int dispatch(const std::vector<std::string>& arguments);

}  // namespace nanhunt::cli
