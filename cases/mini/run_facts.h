// SPDX-License-Identifier: Apache-2.0
// What the subject says of itself in each file of a trace: mesh, versions and the paths taken.
#pragma once

#include "cases/mini/config.h"
#include "trace/run_facts.h"

namespace nanhunt::mini {

trace::RunFacts run_facts(const Config& config, int rank);

}  // namespace nanhunt::mini
