// SPDX-License-Identifier: Apache-2.0
// The command that tests an item: words in which {item} stands for the item's name. No shell runs
// them.
#pragma once

#include <string>
#include <vector>

#include "ablate/shell_words.h"

namespace nanhunt::bisect {

using Words = std::vector<std::string>;

// What a user wrote after `--`. One single word is a whole command line and is split like a shell's
// words; several are taken as they are. Throws Error(kUsage) without any, or for an escape
// that is none.
Words command_template(const Words& written);
// {item} replaced in each word, wherever it stands.
Words filled(const Words& command, const std::string& item);
using ablate::quoted;

}  // namespace nanhunt::bisect
