// SPDX-License-Identifier: Apache-2.0
// What a capture will cost, from a trace of a few steps at `stats`. Each figure says whether it was
// measured or is estimated, and from what.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "trace/trace_reader.h"

namespace nanhunt::cli {

// Bytes per second of the fingerprint pass over tensors of `tensor_bytes`, one thread of this
// machine; takes some 50 ms.
double fingerprint_rate(int64_t tensor_bytes);

struct CapturePrice {
  // Of the last step in the trace, mean over its ranks.
  int64_t records = 0;
  int64_t stats_bytes = 0;   // of the files
  int64_t tensor_bytes = 0;  // of the tensors behind the records: read at stats, written at full
  int32_t ranks = 0;
  double step_seconds = 0;  // with capture at stats; 0 when the trace has one step only
  double rate = 0;          // fingerprint_rate
  double sharing = 1;       // ranks of one host for each of its processors, at least 1

  int64_t full_bytes() const { return stats_bytes + tensor_bytes; }
  double pass_seconds() const;  // of one step
  // Step at stats against the step without capture; 0 when it cannot be told.
  double step_factor() const;
};

// Measures rate and trace.
CapturePrice price_of(const trace::TraceReader& reader);

struct PricedCapture {
  int64_t steps = 1;  // of the case
  int32_t ring = 0;
};

std::string to_text(const CapturePrice& price, const PricedCapture& capture);
nlohmann::json to_json(const CapturePrice& price, const PricedCapture& capture);

}  // namespace nanhunt::cli
