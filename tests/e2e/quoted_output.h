// SPDX-License-Identifier: Apache-2.0
// Output that a document quotes after a command, held against what the command prints.
#pragma once

#include <optional>
#include <string>

namespace nanhunt::e2e {

// The first block of indented lines that begins after the one, or after the text, in which
// `command` stands first; nullopt when there is none.
std::optional<std::string> quoted_after(const std::string& document, const std::string& command);

// The first piece of `quoted` that does not stand in `printed` after the piece before it; "" when
// all do. Pieces are lines, and the parts of one around `...`: a document may leave lines and words
// out, and break long lines. What belongs to a machine is alike: digits of fractions, hashes in
// paths, the host's name.
std::string first_not_printed(const std::string& quoted, const std::string& printed);

}  // namespace nanhunt::e2e
