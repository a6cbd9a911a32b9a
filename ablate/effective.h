// SPDX-License-Identifier: Apache-2.0
// The effective value of a toggle, derived from the records of a trace and never from an echoed
// configuration. One reader expression per toggle:
//
//   op NAME                          yes when a record was produced by an op of that name, else no
//   mesh AXIS                        ranks along tp, dp, ...; mb: microbatches seen on one rank
//   dtype SITE:ROLE[@PHASE]          storage types of the matching records
//   placement SITE:ROLE[@PHASE] AXIS KIND   yes when a matching record has that placement, else no
//   axes SITE:ROLE[@PHASE]           names of the logical axes in local order, outermost first
//   collective FIELD                 op, order, accumulate or async of the reductions; ranks: sizes
//   of groups fact KEY                         of the run facts
//
// SITE is a pattern as in rules files. Several distinct results are sorted and joined by commas;
// none yields "none".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ablate/runner.h"
#include "ablate/settings.h"
#include "ablate/subject.h"
#include "trace/trace_reader.h"

namespace nanhunt::ablate {

// Over one step of a trace. Throws Error(kUsage) when the expression is not understood.
std::string evaluate(const std::string& expression, const trace::Step& step,
                     const std::vector<trace::RunFacts>& facts);
// The value of the toggle that such a result means; nullopt when it means none.
std::optional<std::string> value_of(const Toggle& toggle, const std::string& result);

// One toggle whose effective value is not the one asked for.
struct NoEffect {
  std::string toggle, asked, seen;
};
// "layout.sp was asked to be on, the trace shows no"
std::string describe(const NoEffect& difference);

// Holds the settings that were asked for against the first step of a trace.
std::vector<NoEffect> check_effective(const Subject& subject, const Settings& asked,
                                      const trace::TraceReader& trace);

// The same for a run: nothing where its trace cannot tell, because there is none or it was cut
// short.
std::vector<NoEffect> check_effective(const Subject& subject, const Settings& asked,
                                      const Run& run);

}  // namespace nanhunt::ablate
