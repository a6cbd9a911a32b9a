// SPDX-License-Identifier: Apache-2.0
// State as the comparison sees it, whatever it was read from: logical tensors by name, with what is
// needed to say whether two are equal (digests of values) and, where they are not, how they differ
// (values, on demand). A capsule gives one, and so does a checkpoint of another program.
//
// Digests are trace::RegionPrint's: of canonical values by logical position, so they agree over
// layouts and over types. Values are FP64 in logical row-major order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capsule/kinds.h"
#include "checkpoint/run_files.h"
#include "trace/placement.h"
#include "trace/run_facts.h"

namespace nanhunt::capsule {
class Capsule;
}

namespace nanhunt::repro {

// What one rank holds of a tensor: one region of its placement.
struct StatePart {
  int32_t rank = 0;
  std::shared_ptr<const trace::Placement> placement;
  std::vector<int64_t> local_shape;
  size_t region = 0;
};

struct StateTensor {
  std::string site, role;  // names of docs/capsule.md
  capsule::Kind kind = capsule::Kind::kParameters;
  std::string file;  // of a checkpoint, below its folder; "" of a capsule
  std::string type;  // "bf16"; of types that no trace has the checkpoint's own name, "C64"
  trace::DType dtype = trace::DType::kFloat32;  // of the values as they are read
  std::vector<int64_t> shape;
  uint64_t value_digest = 0, mask_digest = 0;
  std::string contradiction;     // what ranks say differently of it; "" when they agree
  std::vector<StatePart> parts;  // by rank; empty: one file has all of it
  std::vector<std::pair<int32_t, uint64_t>> raw_by_rank;  // of layout-bound state
  std::function<std::vector<double>()> values;

  std::string name() const { return site + " " + role; }
};

struct State {
  std::string name;            // as the user wrote it, with the step
  std::filesystem::path path;  // what is there
  // Another program wrote it, or it was converted: kinds of state that it lacks altogether are not
  // compared. What a capsule of a run lacks is a difference.
  bool foreign = false;
  bool tells_buffers = true;              // a safetensors file does not: all are "param"
  std::optional<trace::RunFacts> layout;  // of a capsule
  std::map<std::pair<std::string, std::string>, StateTensor> tensors;  // by site and role
  std::vector<std::string> not_read;  // pickle files beside what was read
  std::optional<checkpoint::TrainerState> trainer;
  std::map<std::string, std::string> config;  // of config.json, by key
  std::shared_ptr<const void> held;           // what `values` reads from
};

// Refers to the capsule. Reads all values, one record at a time, since digests say nothing of a
// file whose values changed after them. Throws Error(kUnreadable) when the capsule is not whole or
// a value is not what was written; contradictions pass.
State state_of(const capsule::Capsule& capsule);
// step < 0: the newest. Errors as of capsule::Capsule.
State open_capsule_state(const std::filesystem::path& folder, int64_t step);
// Reads every tensor once. Throws as checkpoint::open_checkpoint, and Error(kUnreadable) for a
// tensor that is in two files with other values: nothing says whether those are copies or slices.
State open_checkpoint_state(const std::filesystem::path& path);

}  // namespace nanhunt::repro
