// SPDX-License-Identifier: Apache-2.0
// Calibration: one child run that repeats the reference settings, perturbed as the candidate's
// roundings ask for, and the envelope built from it. Envelopes are kept in the work folder as
// envelope-KEY.json; KEY is that of the calibration run.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "ablate/runner.h"
#include "compare/judge.h"

namespace nanhunt::ablate {

struct CalibrationRequest {
  RunRequest reference;  // the reference run, as it was captured
  int32_t repeats = 8;   // the first one is not perturbed
  uint64_t seed = 1;
};

// Thread safe; equal calibrations at the same time run once.
class Calibrator {
 public:
  explicit Calibrator(Runner& runner) : runner_(runner) {}

  // Throws Error(kUnreadable) when the calibration run fails.
  std::shared_ptr<const oracle::Envelope> envelope(const trace::TraceReader& candidate,
                                                   const trace::TraceReader& reference,
                                                   const CalibrationRequest& request);

 private:
  using Shared = std::shared_ptr<const oracle::Envelope>;
  Shared build(RunRequest request, const std::string& key, int32_t repeats);

  Runner& runner_;
  std::mutex mutex_;
  std::map<std::string, std::shared_future<Shared>> building_;
};

}  // namespace nanhunt::ablate
