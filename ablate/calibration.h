// SPDX-License-Identifier: Apache-2.0
// Calibration: the reference settings repeated, perturbed as the candidate's roundings ask for, and
// the envelope built from the repeats. The first repeat is not perturbed, repeat k has the seed
// `seed + k`. The subject says how: one child process that repeats, or a run of the command per
// repeat, where the first is the reference run itself. Envelopes are kept as envelope-KEY.json. KEY
// hashes the program, its settings, the plan that repeats in one process, the values that the
// reference run left and the version of what envelopes hold: runs that differ only in what the
// children alone are told (a planted fault) share an envelope if that told the reference nothing.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ablate/runner.h"
#include "compare/judge.h"

namespace nanhunt::ablate {

struct CalibrationRequest {
  RunRequest reference;  // the reference run, as it was captured
  int32_t repeats = 8;   // the first one is not perturbed
  uint64_t seed = 1;
  int jobs = 1;  // runs at a time, when each repeat is one
};

// Thread safe; equal calibrations at the same time run once.
class Calibrator {
 public:
  // Keeps envelopes in the folder, which others may share: one at a time.
  Calibrator(Runner& runner, std::filesystem::path envelopes);

  // Throws Error(kUnreadable) when a calibration run fails.
  std::shared_ptr<const oracle::Envelope> envelope(const trace::TraceReader& candidate,
                                                   const trace::TraceReader& reference,
                                                   const CalibrationRequest& request);

 private:
  using Shared = std::shared_ptr<const oracle::Envelope>;
  // The traces of the repeats. What may be removed afterwards is added to `needless`.
  std::vector<std::filesystem::path> in_one_process(const RunRequest& plan,
                                                    std::vector<std::filesystem::path>& needless);
  std::vector<std::filesystem::path> in_runs(const RunRequest& plan, int jobs,
                                             std::vector<std::filesystem::path>& needless);
  Shared build(const RunRequest& plan, const std::string& key, int jobs);

  Runner& runner_;
  std::filesystem::path envelopes_;
  std::mutex mutex_;
  std::map<std::string, std::shared_future<Shared>> building_;
};

}  // namespace nanhunt::ablate
