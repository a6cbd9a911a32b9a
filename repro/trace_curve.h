// SPDX-License-Identifier: Apache-2.0
// The loss curve that a trace holds: of each captured step the logical loss, over ranks and
// microbatches, in FP64.
#pragma once

#include <filesystem>
#include <string>

#include "repro/curve.h"
#include "trace/trace_reader.h"

namespace nanhunt::repro {

// `site`: of the loss; "": the only loss that the trace holds, or the only one with role `loss`.
// Throws Error(kUsage) naming the losses where that leaves no single one; Error(kUnreadable) for a
// trace without steps, and naming the step whose loss is not whole, with the reason.
Curve curve_of_trace(const trace::TraceReader& reader, const std::string& site);

// As JSON lines, which read_curve gives back to the bit: {"step": 3, "loss": 2.31}; NaN, Infinity
// and -Infinity as bare words. Throws Error(kInternal) when the file cannot be written.
void write_curve(const Curve& curve, const std::filesystem::path& path);

}  // namespace nanhunt::repro
