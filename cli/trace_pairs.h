// SPDX-License-Identifier: Apache-2.0
// Small questions about traces that the check of the bundled cases asks.
#pragma once

#include <filesystem>
#include <string>

#include "trace/trace_reader.h"

namespace nanhunt::cli {

// "" when both traces hold the same records with the same value digests, else the first difference.
// Records meet by rank, microbatch and what, whatever their sequence numbers.
std::string digest_difference(const trace::TraceReader& a, const trace::TraceReader& b);

// First file below the folder whose bytes hold the text; "" when none does.
std::string file_that_holds(const std::filesystem::path& folder, const std::string& text);

}  // namespace nanhunt::cli
