// SPDX-License-Identifier: Apache-2.0
// The fixed words of a record: phase, lane, mesh axis, capture level, grade of a link.
// A phase is added here, once. Numbers are written to trace files: never renumber, only append.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace nanhunt::trace {

// Where in the training step a tensor was seen.
enum class Phase : uint8_t {
  kForward = 0,
  kLoss = 1,
  kBackward = 2,
  kPreCollective = 3,   // operand of a collective, before it is issued
  kPostCollective = 4,  // its result, seen after the wait
  kUnscaled = 5,        // gradient after all reductions and after division by the loss scale
  kClipped = 6,         // gradient as the optimizer consumes it
  kUpdate = 7,          // parameters, masters and moments after the optimizer
  kParamSync = 8,       // parameters after they were gathered or broadcast
  kState = 9,           // what a step starts from: the rows of a capsule, and no others
};

// Program order holds within one lane of one rank; between lanes only along data.
enum class Lane : uint8_t { kCompute = 0, kCommunication = 1, kAutograd = 2 };

enum class MeshAxis : uint8_t { kTp, kCp, kEp, kEtp, kDp, kEdp, kPp, kMicrobatch };
inline constexpr int kMeshAxes = 8;

enum class Level : uint8_t { kStats = 0, kFull = 1 };

// How a link to a consumed record is known: from the flow of storages through ops, declared by a
// tap (collectives, optimizer, own kernels), or by equal digests (added by the reader).
enum class LinkGrade : uint8_t { kFlow = 0, kDeclared = 1, kValue = 2 };

std::string_view name_of(Phase phase);  // "forward", "pre_collective", ...
std::string_view name_of(Lane lane);
std::string_view name_of(MeshAxis axis);  // "tp", ..., "mb"
std::string_view name_of(Level level);
std::string_view name_of(LinkGrade grade);

std::optional<Phase> phase_from_name(std::string_view name);
std::optional<MeshAxis> mesh_axis_from_name(std::string_view name);
std::optional<Level> level_from_name(std::string_view name);

std::span<const Phase> all_phases();  // in the order of a step

}  // namespace nanhunt::trace
