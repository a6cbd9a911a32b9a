// SPDX-License-Identifier: Apache-2.0
#include "hooks/torch_ops/point_text.h"

#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <stdexcept>

namespace nanhunt::hooks {
namespace {

using Json = nlohmann::json;
using trace::PlacementKind;

[[noreturn]] void refuse(const std::string& field, const std::string& word) {
  throw std::invalid_argument(field + ": unknown word '" + word + "'");
}

// Kinds and operations have names in trace, but no look-up by name there.
template <class Enum>
Enum by_name(const std::string& field, const std::string& word, Enum last) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    if (trace::name_of(static_cast<Enum>(i)) == word) return static_cast<Enum>(i);
  }
  refuse(field, word);
}

trace::MeshAxis axis_of(const std::string& word) {
  const auto axis = trace::mesh_axis_from_name(word);
  if (!axis) refuse("mesh", word);
  return *axis;
}

trace::AxisPlacement along(const std::string& axis, const Json& said) {
  trace::AxisPlacement result{.axis = axis_of(axis)};
  const bool more = said.is_array();
  result.kind =
      by_name("placement", (more ? said.at(0) : said).get<std::string>(), PlacementKind::kUnknown);
  if (more && said.size() > 1)
    result.op = by_name("reduction", said[1].get<std::string>(), trace::ReduceOp::kProduct);
  if (more && said.size() > 2) result.divisor = said[2].get<double>();
  return result;
}

trace::Placement parse_placement(const Json& json) {
  trace::Placement placement;
  placement.axes = json.at("axes").get<std::vector<std::string>>();
  placement.logical_shape = json.at("shape").get<std::vector<int64_t>>();
  placement.flat = json.value("flat", false);
  if (json.contains("to_logical")) {
    placement.to_logical = json["to_logical"].get<std::vector<int32_t>>();
  } else {
    placement.to_logical.resize(placement.logical_shape.size());
    std::iota(placement.to_logical.begin(), placement.to_logical.end(), 0);
  }
  for (const auto& [axis, said] : json.at("mesh").items())
    placement.mesh.push_back(along(axis, said));
  for (const Json& region : json.at("regions")) {
    placement.regions.push_back({region.at(0).get<std::vector<int64_t>>(),
                                 region.at(1).get<std::vector<int64_t>>(),
                                 region.at(2).get<std::vector<int64_t>>()});
  }
  return placement;
}

template <class Parse>
auto parsed(const std::string& text, Parse parse) {
  try {
    return parse(Json::parse(text));
  } catch (const Json::exception& error) {
    throw std::invalid_argument(error.what());
  }
}

}  // namespace

TapPoint parse_point(const std::string& text) {
  return parsed(text, [](const Json& json) {
    TapPoint point;
    point.site = json.at("site").get<std::string>();
    const auto phase = json.value("phase", std::string("forward"));
    const auto known = trace::phase_from_name(phase);
    if (!known) refuse("phase", phase);
    point.phase = *known;
    point.role = json.value("role", std::string("output"));
    point.op = json.value("op", std::string());
    point.copied = json.value("copied", false);
    if (json.contains("attributes")) point.attributes = json["attributes"].dump();
    if (json.contains("placement")) {
      point.placement =
          std::make_shared<const trace::Placement>(parse_placement(json["placement"]));
    }
    return point;
  });
}

trace::RunFacts parse_run_facts(const std::string& text) {
  return parsed(text, [](const Json& json) {
    trace::RunFacts facts;
    facts.rank = json.at("rank").get<int32_t>();
    facts.world_size = json.at("world_size").get<int32_t>();
    for (const auto& [axis, said] : json.at("mesh").items()) {
      const auto index = static_cast<size_t>(axis_of(axis));
      facts.mesh_size[index] = said.at(0).get<int32_t>();
      facts.mesh_coordinate[index] = said.at(1).get<int32_t>();
    }
    facts.facts = json.at("facts").get<std::map<std::string, std::string>>();
    return facts;
  });
}

}  // namespace nanhunt::hooks
