// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

int main(int count, char** arguments) {
  return nanhunt::cli::dispatch({arguments + (count > 0 ? 1 : 0), arguments + count});
}
