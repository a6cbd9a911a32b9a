// SPDX-License-Identifier: Apache-2.0
// What a configuration must satisfy before anything is allocated.
#pragma once

#include "cases/mini/config.h"

namespace nanhunt::mini {

// Throws trace::Error(kUsage) that names the number that does not fit.
void check_config(const Config& config);

}  // namespace nanhunt::mini
