// SPDX-License-Identifier: Apache-2.0
#include "ablate/calibration.h"

#include <cstdio>
#include <vector>

#include "trace/error.h"

namespace nanhunt::ablate {
namespace {

std::filesystem::path repeat_folder(const std::filesystem::path& trace, int32_t repeat) {
  char name[16];
  std::snprintf(name, sizeof name, "%03d", repeat);
  return trace / name;
}

}  // namespace

std::shared_ptr<const oracle::Envelope> Calibrator::envelope(const trace::TraceReader& candidate,
                                                             const trace::TraceReader& reference,
                                                             const CalibrationRequest& request) {
  RunRequest run = request.reference;
  run.purpose = "calibration";
  run.plan.repeats = request.repeats;
  run.plan.perturbation = oracle::noise_plan(candidate, reference, request.seed).perturbation;
  run.timeout_s *= request.repeats;
  const std::string key = runner_.key_of(run);
  std::promise<Shared> mine;
  std::shared_future<Shared> result;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = building_.find(key);
    first = found == building_.end();
    result = first ? building_[key] = mine.get_future().share() : found->second;
  }
  if (first) {
    try {
      mine.set_value(build(run, key, request.repeats));
    } catch (...) {
      mine.set_exception(std::current_exception());
    }
  }
  return result.get();
}

Calibrator::Shared Calibrator::build(RunRequest request, const std::string& key, int32_t repeats) {
  const auto file = runner_.work() / ("envelope-" + key + ".json");
  if (std::filesystem::exists(file)) {
    return std::make_shared<oracle::Envelope>(oracle::read_envelope(file));
  }
  const Run run = runner_.run(request);
  if (!run.ended_well()) {
    throw trace::Error(trace::ErrorKind::kUnreadable, "calibration: " + run.complaint());
  }
  if (const std::string failure = run.capture_failure(); !failure.empty()) {
    throw trace::Error(trace::ErrorKind::kInternal, "calibration: " + failure);
  }
  const trace::TraceReader base(repeat_folder(run.trace, 0));
  std::vector<trace::TraceReader> perturbed;
  for (int32_t repeat = 1; repeat < repeats; ++repeat) {
    perturbed.emplace_back(repeat_folder(run.trace, repeat));
  }
  std::vector<const trace::TraceReader*> pointers;
  for (const trace::TraceReader& reader : perturbed) pointers.push_back(&reader);
  auto envelope = std::make_shared<oracle::Envelope>(oracle::build_envelope(base, pointers, key));
  oracle::write_envelope(*envelope, file);
  // The envelope is all that is needed from here on.
  std::error_code ignored;
  std::filesystem::remove_all(run.trace, ignored);
  return envelope;
}

}  // namespace nanhunt::ablate
