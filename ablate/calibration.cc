// SPDX-License-Identifier: Apache-2.0
#include "ablate/calibration.h"

#include <xxhash.h>

#include <cstdio>
#include <vector>

#include "ablate/parallel.h"
#include "trace/error.h"

namespace nanhunt::ablate {
namespace {

std::filesystem::path repeat_folder(const std::filesystem::path& trace, int32_t repeat) {
  char name[16];
  std::snprintf(name, sizeof name, "%03d", repeat);
  return trace / name;
}

// `last`: the trace that the run wrote last.
void check_run(const std::string& name, const Run& run, const std::filesystem::path& last) {
  if (!run.ended_well()) {
    throw trace::Error(trace::ErrorKind::kUnreadable, name + ": " + run.complaint());
  }
  if (const std::string failure = run.capture_failure(last); !failure.empty()) {
    throw trace::Error(trace::ErrorKind::kInternal, name + ": " + failure);
  }
}

// Repeat k of the plan as a run of its own.
RunRequest run_of_repeat(const RunRequest& plan, int32_t repeat) {
  RunRequest run = plan;
  run.plan.repeats = 1;
  if (repeat == 0) {
    run.plan.perturbation.reset();
  } else {
    run.purpose += " " + std::to_string(repeat);
    run.plan.perturbation->seed += static_cast<uint64_t>(repeat);
  }
  return run;
}

// One number for all values of a trace, in whatever order its records came.
std::string values_of(const trace::TraceReader& reader) {
  uint64_t sum = 0;
  for (const int64_t number : reader.steps()) {
    for (const trace::Record& record : reader.read_step(number).records) {
      const trace::Where& where = record.where;
      const std::string text = trace::describe(record.what) + " " + std::to_string(where.rank) +
                               " " + std::to_string(where.microbatch) + " " +
                               std::to_string(record.raw_digest);
      sum += XXH3_64bits(text.data(), text.size());
    }
  }
  return std::to_string(sum);
}

}  // namespace

Calibrator::Calibrator(Runner& runner, std::filesystem::path envelopes)
    : runner_(runner), envelopes_(std::move(envelopes)) {}

std::shared_ptr<const oracle::Envelope> Calibrator::envelope(const trace::TraceReader& candidate,
                                                             const trace::TraceReader& reference,
                                                             const CalibrationRequest& request) {
  RunRequest run = request.reference;
  run.purpose = "calibration";
  run.plan.repeats = request.repeats;
  run.plan.perturbation = oracle::noise_plan(candidate, reference, request.seed).perturbation;
  const std::string key = hash_of(runner_.program_of(run) + values_of(reference) +
                                  std::to_string(oracle::kEnvelopeVersion));
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
      mine.set_value(build(run, key, request.jobs));
    } catch (...) {
      mine.set_exception(std::current_exception());
    }
  }
  return result.get();
}

std::vector<std::filesystem::path> Calibrator::in_one_process(
    const RunRequest& plan, std::vector<std::filesystem::path>& needless) {
  RunRequest request = plan;
  request.timeout_s *= plan.plan.repeats;
  const Run run = runner_.run(request);
  check_run("calibration", run, repeat_folder(run.trace, plan.plan.repeats - 1));
  std::vector<std::filesystem::path> traces;
  for (int32_t repeat = 0; repeat < plan.plan.repeats; ++repeat) {
    traces.push_back(repeat_folder(run.trace, repeat));
  }
  needless.push_back(run.trace);
  return traces;
}

std::vector<std::filesystem::path> Calibrator::in_runs(
    const RunRequest& plan, int jobs, std::vector<std::filesystem::path>& needless) {
  std::vector<std::filesystem::path> traces(static_cast<size_t>(plan.plan.repeats));
  for_each_parallel(traces.size(), jobs, [&](size_t repeat) {
    const RunRequest request = run_of_repeat(plan, static_cast<int32_t>(repeat));
    const Run run = runner_.run(request);
    check_run(request.purpose, run, run.trace);
    traces[repeat] = run.trace;
  });
  // The first is the reference run: others need it.
  needless.assign(traces.begin() + 1, traces.end());
  return traces;
}

Calibrator::Shared Calibrator::build(const RunRequest& plan, const std::string& key, int jobs) {
  const auto file = envelopes_ / ("envelope-" + key + ".json");
  if (std::filesystem::exists(file)) {
    return std::make_shared<oracle::Envelope>(oracle::read_envelope(file));
  }
  std::vector<std::filesystem::path> needless;
  const auto traces = calibration_of(runner_.subject(), plan.settings) == Calibrate::kRuns
                          ? in_runs(plan, jobs, needless)
                          : in_one_process(plan, needless);
  const trace::TraceReader base(traces.front());
  std::vector<trace::TraceReader> perturbed(traces.begin() + 1, traces.end());
  std::vector<const trace::TraceReader*> pointers;
  for (const trace::TraceReader& reader : perturbed) pointers.push_back(&reader);
  auto envelope = std::make_shared<oracle::Envelope>(oracle::build_envelope(base, pointers, key));
  std::error_code ignored;  // what cannot be made cannot be written, which is told
  std::filesystem::create_directories(envelopes_, ignored);
  oracle::write_envelope(*envelope, file);
  // The envelope is all that is needed from here on.
  for (const auto& trace : needless) std::filesystem::remove_all(trace, ignored);
  return envelope;
}

}  // namespace nanhunt::ablate
