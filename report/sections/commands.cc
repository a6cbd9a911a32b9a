// SPDX-License-Identifier: Apache-2.0
#include "report/next_commands.h"
#include "report/sections/sections.h"

namespace nanhunt::report {

Data commands(const compare::Verdict& verdict) {
  return table(next_commands(verdict), kMostLines,
               [](const NextCommand& command) { return pair_row(command.words, command.what); });
}

}  // namespace nanhunt::report
