// SPDX-License-Identifier: Apache-2.0
// Where the ranks of an origin sit (hosts, devices), and what their pattern suggests: one rank, one
// host, one group of a mesh axis. A hypothesis only, printed with the trial that would decide it.
#pragma once

#include <string>
#include <vector>

#include "compare/trace_source.h"
#include "oracle/finding.h"

namespace nanhunt::compare {

std::vector<std::string> hosts_of(const TraceSource& source, const std::vector<int32_t>& ranks);
std::string hypothesis_of(const TraceSource& source, const oracle::Finding& finding);

}  // namespace nanhunt::compare
