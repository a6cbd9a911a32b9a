// SPDX-License-Identifier: Apache-2.0
// The recorder: takes tensors from the training threads, makes their records (statistics and
// fingerprints on the calling thread, values copied when captured in full), and hands them over a
// bounded queue to the one writer thread of the process, which writes segments. Knows nothing of
// torch.
//
// Promises: never throws into the training process and never ends it; never changes a tensor; a
// hook that fails switches itself off and the trace says so; when the queue is full the caller
// waits (rows) or the values are dropped and written down (values). A segment is cut at the end of
// a step, after 512 rows or 200 ms, at the first non-finite value (that tap waits, at most 1 s,
// until the segment has its final name), at exceptions and termination signals (the handler waits
// at most 2 s).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/capture_plan.h"
#include "trace/collective.h"
#include "trace/fingerprint.h"
#include "trace/record.h"
#include "trace/run_facts.h"
#include "trace/segment.h"

namespace nanhunt::hooks {

// One tensor as a tap sees it. The view must stay valid and unchanged during the call only.
struct Observation {
  std::string site;
  trace::Phase phase = trace::Phase::kForward;
  std::string role;
  int32_t microbatch = -1;
  trace::Lane lane = trace::Lane::kCompute;
  trace::TensorView tensor;
  trace::DType compute = trace::DType::kFloat32;
  std::shared_ptr<const trace::Placement> placement;
  std::string op;
  std::string attributes;  // JSON object or ""
  std::vector<trace::Link> links;
  double rounding = 0;  // relative, since the linked records (trace/record.h)
  int64_t collective = -1;  // log index of the collective that this is an operand or result of
  int segments = 0;         // raw digests of equal pieces along segment_dim (operands of gathers)
  int segment_dim = 0;
};

// One rank of this process. Thread safe: the rank's compute and communication threads may both
// call.
class RankRecorder {
 public:
  // True when this rank is captured and no hook failed; every other call is a no-op otherwise.
  bool on() const;
  // True when a tensor of that site and phase would get a row in the current step.
  bool wants(const std::string& site, trace::Phase phase) const;

  void begin_step(int64_t step);
  void end_step();  // cuts the last segment of the step

  // Writes a row; returns its sequence number, -1 when filtered out or off.
  int64_t record(const Observation& observation);

  // Collectives: issue before the operands are handed over, complete after the wait. The log index
  // that issue returns goes into the records of operands and results. -1 when off.
  int64_t issue_collective(trace::Collective collective);
  void complete_collective(int64_t log_index, std::vector<int64_t> outputs);
  // Adds the operands' sequence numbers once they are recorded.
  void collective_inputs(int64_t log_index, std::vector<int64_t> inputs);

  // Adds a fact to the files of this rank from the next segment on: versions, paths taken.
  void fact(const std::string& key, const std::string& value);

  // Cuts a segment now and waits until it is sealed, at most `milliseconds`.
  void seal(trace::CutReason reason, const std::string& detail, int milliseconds);

  // A hook failed: marks the trace with the text, switches this rank's capture off.
  void fail(const std::string& what);

  const trace::CapturePlan& plan() const;
  const trace::RunFacts& facts() const;

 private:
  friend class Recorder;
  struct Impl;
  explicit RankRecorder(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

// The recorder of the process: owns the writer thread and the signal handlers.
class Recorder {
 public:
  // nullopt plan: an inert recorder whose ranks are all off. Repeats of a calibration construct one
  // Recorder each, with plan.out set to the repeat's folder.
  explicit Recorder(std::optional<trace::CapturePlan> plan);
  ~Recorder();  // seals what is left
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Adds a rank (threads as ranks: several per process). The result lives as long as the Recorder.
  RankRecorder& add_rank(trace::RunFacts facts);

  // Installs handlers for SIGTERM, SIGINT, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL and the
  // terminate handler, which seal and then do what would have happened without them. Once per
  // process.
  void seal_on_death();

  // Seals everything and stops the writer; called by the destructor.
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nanhunt::hooks
