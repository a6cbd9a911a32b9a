// SPDX-License-Identifier: Apache-2.0
#include "compare/signatures/pairs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "compare/numbers.h"
#include "oracle/mesh.h"

namespace nanhunt::compare {

std::optional<LogicalPair> logical_pair(const SignatureInput& input) {
  if (input.reference == nullptr) return std::nullopt;
  const auto& what = input.draft.origin.finding.what;
  const LogicalPair pair{find_logical(input.side, what), find_logical(*input.reference, what)};
  if (pair.candidate == nullptr || pair.reference == nullptr) return std::nullopt;
  if (!pair.candidate->complete || !pair.reference->complete) return std::nullopt;
  if (pair.candidate->shape != pair.reference->shape) return std::nullopt;
  if (pair.candidate->print.masked() || pair.reference->print.masked()) return std::nullopt;
  return pair;
}

trace::RegionPrint print_of(const trace::Record& record) {
  trace::RegionPrint sum;
  for (const auto& region : record.regions) sum = trace::add(sum, region);
  return sum;
}

bool covers_all(const trace::Record& record) {
  if (!record.placement || record.regions.empty()) return false;
  const auto& shape = record.placement->logical_shape;
  const auto elements =
      std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  return record.statistics.count == static_cast<uint64_t>(elements);
}

std::optional<double> scalar_of(const trace::Record& record) {
  if (record.statistics.count != 1 || record.statistics.non_finite() > 0) return std::nullopt;
  return record.statistics.sum;
}

double sketch_distance(const trace::Sketch& a, const trace::Sketch& b,
                       const trace::RegionPrint& reference) {
  const double size = std::sqrt(reference.sum_squares);
  const double norm = trace::sketch_norm(trace::subtract(a, b));
  return size > 0 ? norm / size : (norm > 0 ? HUGE_VAL : 0);
}

trace::Sketch scaled(const trace::Sketch& sketch, double factor) {
  trace::Sketch result = sketch;
  for (auto& bucket : result) bucket *= factor;
  return result;
}

bool has_ratio(const oracle::Logical& candidate, const oracle::Logical& reference) {
  constexpr uint64_t kFewestElements = 16;
  return candidate.complete && reference.complete && candidate.shape == reference.shape &&
         !candidate.print.masked() && !reference.print.masked() &&
         reference.count >= kFewestElements &&
         trace::sketch_dot(reference.print.sketch, reference.print.sketch) > 0;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

bool is_gradient(const trace::What& what, trace::Phase phase) {
  return what.phase == phase && what.role == "grad";
}

bool true_is_masked(const trace::Record& mask) {
  const auto attributes = nlohmann::json::parse(mask.attributes, nullptr, false);
  return attributes.is_object() && attributes.value("true", "") == "masked";
}

trace::Sketch sketch_of_wrong(const SignatureInput& input, const LogicalPair& pair) {
  const auto& first = input.side.record(input.draft.record);
  return covers_all(first) && !pair.candidate->partial ? print_of(first).sketch
                                                       : pair.candidate->print.sketch;
}

std::string axes_of_size(const SideStep& side, int32_t size) {
  const oracle::Mesh mesh(side.source->facts);
  std::vector<std::string> names;
  for (int a = 0; a < trace::kMeshAxes; ++a) {
    const auto axis = static_cast<trace::MeshAxis>(a);
    if (axis == trace::MeshAxis::kMicrobatch || mesh.size(axis) != size) continue;
    names.emplace_back(trace::name_of(axis));
  }
  return join(names, " or ");
}

std::set<int32_t> axis_sizes(const SideStep& side) {
  const oracle::Mesh mesh(side.source->facts);
  std::set<int32_t> sizes;
  for (int a = 0; a < trace::kMeshAxes; ++a) {
    const auto axis = static_cast<trace::MeshAxis>(a);
    if (axis != trace::MeshAxis::kMicrobatch && mesh.size(axis) > 1) sizes.insert(mesh.size(axis));
  }
  return sizes;
}

Fit fit_sketches(const trace::Sketch& candidate, const trace::Sketch& reference) {
  const double size = trace::sketch_dot(reference, reference);
  const double ratio = trace::sketch_dot(candidate, reference) / size;
  const auto rest = trace::subtract(candidate, scaled(reference, ratio));
  return {ratio, std::sqrt(trace::sketch_dot(rest, rest) / size), 1};
}

}  // namespace nanhunt::compare
