// SPDX-License-Identifier: Apache-2.0
// Writes capsules (capsule/capsule.h) beside training: what a rank says at the start of a step is
// copied on its thread and written by the recorder's background thread. Promises as of recorder.h:
// never throws into the training process, never ends it, never changes a tensor. What does not fit
// the bound of the queue is left out, and the capsule says so: it is then not whole. A disk that is
// full ends the writing, with one line on stderr.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "hooks/recorder.h"

namespace nanhunt::hooks {

struct CapsulePlan {
  std::filesystem::path folder;
  // A ring: when a new capsule is begun, all but the newest `keep` older ones are removed, so that
  // the start of a step that turned out to be poisoned is still there. 0: all stay.
  int64_t keep = 0;
  int64_t queue_bytes = int64_t{4} << 30;
  uint64_t run = 0;  // the same on all ranks of a run, another in each run
};

// One rank of this process; used by one thread.
class RankCapsule {
 public:
  RankCapsule(RankRecorder& recorder, CapsulePlan plan);

  // Begins the capsule of the state that `step` starts from.
  void begin(int64_t step);
  // Copies the tensor. Names of sites and roles: docs/capsule.md.
  void add(const std::string& site, const std::string& role, const trace::TensorView& tensor,
           std::shared_ptr<const trace::Placement> placement);
  // Numbers that all ranks share.
  void add(const std::string& site, const std::string& role, int64_t value);
  void add(const std::string& site, const std::string& role, double value);
  void end();

 private:
  void forget_old(int64_t step) noexcept;

  RankRecorder* recorder_;
  CapsulePlan plan_;
};

// All ranks of this process.
class CapsuleWriter {
 public:
  explicit CapsuleWriter(CapsulePlan plan);
  // Lives as long as the writer. Ranks may be added by their threads.
  RankCapsule add_rank(trace::RunFacts facts);
  // Everything is written, or said to have failed. Called by the destructor.
  void close();

 private:
  CapsulePlan plan_;
  Recorder recorder_;
};

}  // namespace nanhunt::hooks
