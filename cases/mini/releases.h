// SPDX-License-Identifier: Apache-2.0
// Releases of the subject, as an upgrade goes from one to the next: release 2 is release 1 but for
// what is planted into it.
#pragma once

#include <string>

#include "cases/mini/config.h"
#include "cases/mini/faults.h"

namespace nanhunt::mini {

// Defaults that the release has otherwise.
void set_defaults(Config& config, const Fault& fault);

// What this release calls a parameter. Its values are drawn by the name of release 1.
std::string released_name(const Config& config, const Fault& fault, const std::string& name);

// Whether a run that goes on from a capsule takes the parameters alone from it: because it was told
// so, or because this release forgets the rest.
bool parameters_alone(const Config& config, const Fault& fault);

}  // namespace nanhunt::mini
