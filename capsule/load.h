// SPDX-License-Identifier: Apache-2.0
// Loading a capsule into any layout: a rank says which tensors it wants and which regions of them,
// and gets them out of whatever pieces the capsule has. Plan first, then load; nothing is loaded
// from a plan with an obstacle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "capsule/capsule.h"

namespace nanhunt::capsule {

struct Wanted {
  std::string site, role;
  trace::DType dtype = trace::DType::kFloat32;
  std::vector<int64_t> local_shape;
  std::shared_ptr<const trace::Placement> placement;  // of the rank that loads
};

enum class Outcome {
  kLoaded,   // exact
  kRebuilt,  // it is not in the capsule, or bound to another layout: the trajectory changes
  kCannot,   // it is there and does not fit: another shape or type
};

struct Planned {
  Outcome outcome = Outcome::kLoaded;
  std::string why;           // of what is not loaded; names the tensor and the level that is lost
  std::vector<int> sources;  // records to read, in order
};

struct Plan {
  std::vector<Planned> tensors;     // beside what was wanted
  // Tensors of the capsule that this program did not ask for, "site role": state that going on
  // would lose. The number of the writer is not among them.
  std::vector<std::string> unused;
  int64_t bytes_read = 0;           // by this rank
  int64_t peak_bytes = 0;           // beside what the caller holds: largest piece and window

  // Reasons of all that is not loaded.
  std::vector<std::string> obstacles() const;
};

// `same_layout`: the capsule was written by the layout that loads it; layout-bound state is then
// taken from the rank's own rows, else rebuilt.
Plan plan_load(const Capsule& capsule, const std::vector<Wanted>& wanted, int32_t rank,
               bool same_layout);

// Fills `out`, the local tensor, packed in local order; cells that no region covers stay as they
// are. Each piece is checked against its digest as it is read. Throws Error(kUnreadable) naming
// file and tensor.
void load(const Capsule& capsule, const Wanted& wanted, const Planned& planned,
          std::span<std::byte> out);

std::string shape_text(const std::vector<int64_t>& shape);  // "[96, 64]"

// What is lost with a tensor that no program wants: one line that names it and the level.
std::string unused_text(const std::string& name);  // "site role"

// True when mesh sizes and world size are those of the capsule.
bool same_layout(const Capsule& capsule, const trace::RunFacts& facts);

}  // namespace nanhunt::capsule
