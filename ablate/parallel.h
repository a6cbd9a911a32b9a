// SPDX-License-Identifier: Apache-2.0
// A loop over independent pieces of work, several at a time.
#pragma once

#include <cstddef>
#include <functional>

namespace nanhunt::ablate {

// Calls body(0) .. body(count - 1), at most `jobs` at a time, and returns when all have ended. The
// first exception (by index) is thrown again here; pieces not begun by then are left out.
void for_each_parallel(size_t count, int jobs, const std::function<void(size_t)>& body);

}  // namespace nanhunt::ablate
