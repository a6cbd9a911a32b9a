// SPDX-License-Identifier: Apache-2.0
// The commands to go on with after a verdict, ready for a shell.
#pragma once

#include <string>
#include <vector>

#include "compare/verdict.h"

namespace nanhunt::report {

struct NextCommand {
  std::string words;
  std::string what;  // what it shows
};

std::vector<NextCommand> next_commands(const compare::Verdict& verdict);
// As one word of a POSIX shell, quoted where it must be.
std::string quoted(const std::string& word);

}  // namespace nanhunt::report
