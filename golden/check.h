// SPDX-License-Identifier: Apache-2.0
// A run against the expected values of earlier ones (golden.h).
//
// A run of an exported layout is compared rank by rank:
//   bit     equal digests, or: within the noise of its kind of site, where others of that kind have
//           some; else `different` if what it was made from is as expected. Where that is within
//           noise itself, a digest may be flipped by it: no farther off than what came in may be
//           is within, farther is unjudged. Equality in N runs is no proof for all runs: a race
//           that shows in a share p of the runs is missed by N runs with probability (1-p)^N + p^N.
//   noise   distance and norm below the bound of spread.h; copies that were equal in all exporting
//           runs must be equal.
// A changed configuration (library, ISA, threads, types, flags) excuses bits, never values beyond
// noise, unless they follow from bits that it excused: a deviation that is up to kGrowth times that
// of its inputs is unjudged then.
// A run of another layout is compared by logical tensors, and never accused by bits.
// Non-finite values where no exporting run had one are `different` whatever else differs.
#pragma once

#include "compare/trace_source.h"
#include "golden/golden.h"
#include "golden/result.h"

namespace nanhunt::golden {

// Roundings grow through cancellation; a fault of a site is a jump.
inline constexpr double kGrowth = 100;

// Reads one step at a time. Throws Error(kUnreadable) when the trace cannot be read.
Result check_run(const Golden& golden, const compare::TraceSource& run,
                 const oracle::Thresholds& thresholds);

// Those that the file was exported with, over the installed ones.
oracle::Thresholds thresholds_of(const Golden& golden);

}  // namespace nanhunt::golden
