// SPDX-License-Identifier: Apache-2.0
#include "tests/cases/mini_run.h"

#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/scratch_folder.h"

namespace nanhunt::mini {
namespace {

std::string write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
  return path.string();
}

bool first_copy(const trace::Placement& placement, const trace::RunFacts& facts) {
  for (int axis = 0; axis < trace::kMeshAxes; ++axis) {
    const auto kind = trace::on_axis(placement, static_cast<trace::MeshAxis>(axis)).kind;
    if (kind == trace::PlacementKind::kReplicated && facts.mesh_coordinate[axis] != 0) return false;
  }
  return true;
}

bool is_maximum(const trace::Placement& placement) {
  return std::any_of(placement.mesh.begin(), placement.mesh.end(), [](const auto& axis) {
    return axis.kind == trace::PlacementKind::kPartial && axis.op == trace::ReduceOp::kMax;
  });
}

// Adds the cells of one region of a local tensor.
void add_region(const trace::Record& record, const trace::Region& region,
                const std::vector<double>& local, std::vector<double>& logical) {
  const trace::Placement& placement = *record.placement;
  const size_t dimensions = record.local_shape.size();
  std::vector<int64_t> at(dimensions, 0);  // within the region, local dimensions
  for (;;) {
    int64_t local_index = 0;
    std::vector<int64_t> position(dimensions);
    for (size_t d = 0; d < dimensions; ++d) {
      local_index = local_index * record.local_shape[d] + region.local_start[d] + at[d];
      const int32_t to = placement.to_logical[d];
      position[to] = region.logical_start[to] + at[d];
    }
    int64_t index = 0;
    for (size_t d = 0; d < dimensions; ++d) {
      index = index * placement.logical_shape[d] + position[d];
    }
    logical[index] += local[local_index];
    size_t d = dimensions;
    while (d > 0 && ++at[d - 1] == region.extent[placement.to_logical[d - 1]]) at[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace

MiniResult run_mini(const MiniRun& run, const std::filesystem::path& folder) {
  nlohmann::json plan{{"out", folder.string()},
                      {"level", std::string(trace::name_of(run.level))},
                      {"repeats", run.repeats}};
  if (!run.perturbation.empty()) {
    plan["perturbation"] = nlohmann::json::parse(run.perturbation);
  }
  const ScratchFolder files;  // beside the trace, which holds nothing else
  std::string command = "NANHUNT_CAPTURE=" + write_file(files / "plan.json", plan.dump());
  if (!run.fault.empty()) {
    command += " NANHUNT_FAULT_FILE=" + write_file(files / "side.json", run.fault);
  }
  command += std::string(" ") + MINI_PROGRAM + " " + run.arguments + " 2>&1";
  MiniResult result;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return result;
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) result.output += buffer;
  const int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

LogicalTensors logical_tensors(const trace::TraceReader& reader, int64_t step) {
  LogicalTensors tensors;
  for (const trace::Record& record : reader.read_step(step).records) {
    const trace::Placement& placement = *record.placement;
    const trace::RunFacts& facts = *reader.facts_of(record.where.rank);
    if (!record.has_values || is_maximum(placement) || !first_copy(placement, facts)) continue;
    std::vector<double>& logical = tensors[{record.what.site, record.what.phase, record.what.role}];
    int64_t numel = 1;
    for (const int64_t extent : placement.logical_shape) numel *= extent;
    logical.resize(numel, 0);
    const std::vector<double> local = reader.read_doubles(record);
    for (const trace::Region& region : placement.regions) {
      add_region(record, region, local, logical);
    }
  }
  return tensors;
}

std::vector<Place> differing_places(const LogicalTensors& reference, const LogicalTensors& other,
                                    double tolerance) {
  std::vector<Place> places;
  for (const auto& [place, expected] : reference) {
    const trace::Phase phase = std::get<1>(place);
    if (phase == trace::Phase::kPreCollective || phase == trace::Phase::kPostCollective ||
        phase == trace::Phase::kUpdate) {
      continue;
    }
    const auto found = other.find(place);
    bool differs = found == other.end() || found->second.size() != expected.size();
    double largest = 0, error = 0;
    for (size_t i = 0; !differs && i < expected.size(); ++i) {
      largest = std::max(largest, std::abs(expected[i]));
      error = std::max(error, std::abs(expected[i] - found->second[i]));
      differs = std::isnan(expected[i]) != std::isnan(found->second[i]);
    }
    if (differs || error > tolerance * largest) places.push_back(place);
  }
  return places;
}

std::string describe(const std::vector<Place>& places) {
  std::string text;
  for (const auto& [site, phase, role] : places) {
    text += site + " " + std::string(trace::name_of(phase)) + " " + role + "\n";
  }
  return text;
}

}  // namespace nanhunt::mini
