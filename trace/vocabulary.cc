// SPDX-License-Identifier: Apache-2.0
#include "trace/vocabulary.h"

#include <array>

#include "trace/check.h"

namespace nanhunt::trace {
namespace {

// Each table is indexed by the number of the enumerator.
constexpr std::array<std::string_view, 10> kPhaseNames{
    "forward",  "loss",    "backward", "pre_collective", "post_collective",
    "unscaled", "clipped", "update",   "param_sync",     "state"};
constexpr std::array<std::string_view, 3> kLaneNames{"compute", "communication", "autograd"};
constexpr std::array<std::string_view, kMeshAxes> kAxisNames{"tp", "cp",  "ep", "etp",
                                                             "dp", "edp", "pp", "mb"};
constexpr std::array<std::string_view, 2> kLevelNames{"stats", "full"};
constexpr std::array<std::string_view, 3> kGradeNames{"flow", "declared", "value"};

constexpr std::array<Phase, 10> kPhases{
    Phase::kState,    Phase::kForward,  Phase::kLoss,    Phase::kBackward, Phase::kPreCollective,
    Phase::kPostCollective, Phase::kUnscaled, Phase::kClipped,  Phase::kUpdate,
    Phase::kParamSync};

template <class Enum, size_t N>
std::string_view name_in(const std::array<std::string_view, N>& names, Enum value) {
  const auto index = static_cast<size_t>(value);
  NANHUNT_CHECK(index < N);
  return names[index];
}

template <class Enum, size_t N>
std::optional<Enum> find_in(const std::array<std::string_view, N>& names, std::string_view name) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Phase phase) { return name_in(kPhaseNames, phase); }
std::string_view name_of(Lane lane) { return name_in(kLaneNames, lane); }
std::string_view name_of(MeshAxis axis) { return name_in(kAxisNames, axis); }
std::string_view name_of(Level level) { return name_in(kLevelNames, level); }
std::string_view name_of(LinkGrade grade) { return name_in(kGradeNames, grade); }

std::optional<Phase> phase_from_name(std::string_view name) {
  return find_in<Phase>(kPhaseNames, name);
}

std::optional<MeshAxis> mesh_axis_from_name(std::string_view name) {
  return find_in<MeshAxis>(kAxisNames, name);
}

std::optional<Level> level_from_name(std::string_view name) {
  return find_in<Level>(kLevelNames, name);
}

std::span<const Phase> all_phases() { return kPhases; }

}  // namespace nanhunt::trace
