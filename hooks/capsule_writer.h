// SPDX-License-Identifier: Apache-2.0
// Writes capsules (capsule/capsule.h) beside training: what a rank says at the start of a step is
// copied on its thread and written by the recorder's background thread. Promises as of recorder.h:
// never throws into the training process, never ends it, never changes a tensor.
//
// A rank whose state is larger than the bound of the queue is copied and written in pieces: the
// step waits for room, and says on stderr for how long. By choice values are left out instead, and
// the capsule says so: it is then not whole. A disk that is full ends the writing, with a line on
// stderr for each capsule that is not written; older ones that are whole stay.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "hooks/capsule_ring.h"
#include "hooks/recorder.h"

namespace nanhunt::hooks {

// What becomes of a tensor that finds the queue full.
enum class WhenFull {
  kWait,      // the step waits until there is room: as long as the disk takes
  kLeaveOut,  // after a second its values are left out
};

struct CapsulePlan {
  std::filesystem::path folder;
  // A ring: when a new capsule is begun, all but the newest `keep` older ones that are whole are
  // removed (capsule_ring.h), so that the start of a step that turned out to be poisoned is still
  // there. 0: all stay.
  int64_t keep = 0;
  // Of copies that wait to be written, per process. A larger tensor waits until it is alone.
  int64_t queue_bytes = int64_t{4} << 30;
  WhenFull when_full = WhenFull::kWait;
  uint64_t run = 0;  // the same on all ranks of a run, another in each run
};

// One rank of this process; used by one thread.
class RankCapsule {
 public:
  // begun: told the step of each capsule that rank 0 begins.
  RankCapsule(RankRecorder& recorder, CapsulePlan plan, std::atomic<int64_t>& begun);

  // Begins the capsule of the state that `step` starts from; files that an earlier run left of this
  // rank and step are removed. Begun again without another step between, it stays as it is, and
  // what is added until end() is nothing.
  void begin(int64_t step);
  // Copies the tensor. Names of sites and roles: docs/capsule.md.
  void add(const std::string& site, const std::string& role, const trace::TensorView& tensor,
           std::shared_ptr<const trace::Placement> placement);
  // Numbers that all ranks share.
  void add(const std::string& site, const std::string& role, int64_t value);
  void add(const std::string& site, const std::string& role, double value);
  void end();

 private:
  void prepare() noexcept;
  void say(const std::string& what) const;  // one line on stderr

  RankRecorder* recorder_;
  CapsulePlan plan_;
  CapsuleRing ring_;
  std::atomic<int64_t>* begun_;
  int64_t step_ = -1;
  bool open_ = false;
};

// All ranks of this process.
class CapsuleWriter {
 public:
  explicit CapsuleWriter(CapsulePlan plan);
  // Lives as long as the writer. Ranks may be added by their threads.
  RankCapsule add_rank(trace::RunFacts facts);
  ~CapsuleWriter();
  // Everything is written, or said to have failed, and the ring is brought in order: until then
  // more may be there, as what is still being written is not counted on. Called by the destructor.
  void close();

 private:
  CapsulePlan plan_;
  std::atomic<int64_t> begun_{-1};
  Recorder recorder_;
};

}  // namespace nanhunt::hooks
