// SPDX-License-Identifier: Apache-2.0
#include "golden/content.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "golden/json_values.h"

namespace nanhunt::golden {
namespace {

using nlohmann::json;

Class class_from(const json& value) {
  for (const Class each : {Class::kBit, Class::kNoise, Class::kUnjudged}) {
    if (value == name_of(each)) return each;
  }
  throw std::invalid_argument("class " + value.dump());
}

trace::Phase phase_from(const json& value) {
  const auto phase = trace::phase_from_name(value.get<std::string>());
  if (!phase) throw std::invalid_argument("phase " + value.dump());
  return *phase;
}

json json_of(const Spread& spread) {
  return {spread.contrasts, number_json(spread.mean_square)};
}

Spread spread_from(const json& value) {
  return {value.at(0).get<int64_t>(), number_from(value.at(1))};
}

json json_of(const Key& key) {
  json value = json::object();
  if (key.rank >= 0) value["rank"] = key.rank;
  if (key.microbatch >= 0) value["microbatch"] = key.microbatch;
  if (key.repeat > 0) value["repeat"] = key.repeat;
  return value;
}

// What is as most entries have it is left out. A copy has what it is a copy of.
json json_of(const Key& key, const Expected& entry) {
  json value = json_of(key);
  if (entry.copy_of) {
    value["copy_of"] = *entry.copy_of;
    return value;
  }
  value["count"] = entry.count;
  value["norm"] = number_json(entry.norm);
  if (entry.kind != Class::kBit) value["class"] = name_of(entry.kind);
  if (!entry.why.empty()) value["why"] = entry.why;
  for (const uint64_t digest : entry.digests) value["digests"].push_back(hex(digest));
  if (entry.non_finite > 0) value["non_finite"] = entry.non_finite;
  if (entry.mask != 0) value["mask"] = hex(entry.mask);
  if (entry.mask_varies) value["mask_varies"] = true;
  if (entry.sketch) value["sketch"] = sketch_json(*entry.sketch);
  if (entry.distance.contrasts > 0) value["distance"] = json_of(entry.distance);
  if (entry.norms.contrasts > 0) value["norms"] = json_of(entry.norms);
  return value;
}

Key key_from(const json& value, const trace::What& what) {
  return {what, value.value("rank", -1), value.value("microbatch", -1), value.value("repeat", 0)};
}

Expected entry_from(const json& value) {
  Expected entry;
  entry.count = value.at("count");
  entry.norm = number_from(value.at("norm"));
  entry.kind = value.contains("class") ? class_from(value["class"]) : Class::kBit;
  entry.why = value.value("why", "");
  if (value.contains("digests")) {
    for (const auto& digest : value["digests"]) entry.digests.push_back(word_from(digest));
  }
  entry.non_finite = value.value("non_finite", uint64_t{0});
  if (value.contains("mask")) entry.mask = word_from(value["mask"]);
  entry.mask_varies = value.value("mask_varies", false);
  if (value.contains("sketch")) entry.sketch = sketch_from(value["sketch"]);
  if (value.contains("distance")) entry.distance = spread_from(value["distance"]);
  if (value.contains("norms")) entry.norms = spread_from(value["norms"]);
  return entry;
}

// What it is a copy of has a lower rank, so it is there already.
Expected copy_from(const Table& table, Key key, int32_t copy_of) {
  key.rank = copy_of;
  Expected entry = table.entries.at(key);
  entry.copy_of = copy_of;
  entry.sketch.reset();
  entry.distance = entry.norms = {};
  return entry;
}

// Entries of one tensor together, so that its name stands there once.
json entries_json(const Table& table) {
  json places = json::array();
  const trace::What* last = nullptr;
  for (const auto& [key, entry] : table.entries) {
    if (last == nullptr || *last != key.what) {
      places.push_back({{"step", key.what.step},
                        {"site", key.what.site},
                        {"phase", trace::name_of(key.what.phase)},
                        {"role", key.what.role},
                        {"entries", json::array()}});
      if (key.what.occurrence > 0) places.back()["occurrence"] = key.what.occurrence;
    }
    last = &key.what;
    places.back()["entries"].push_back(json_of(key, entry));
  }
  return places;
}

json kinds_json(const Table& table) {
  json kinds = json::array();
  for (const auto& [kind, shape] : table.kinds) {
    kinds.push_back({{"site", kind.site},
                     {"phase", trace::name_of(kind.phase)},
                     {"role", kind.role},
                     {"step", kind.step},
                     {"relative_variance", number_json(shape.relative_variance)},
                     {"freedom", shape.freedom}});
  }
  return kinds;
}

json curves_json(const Table& table) {
  json curves = json::array();
  for (const auto& [key, point] : table.curves) {
    json value = {
        {"site", key.site}, {"role", key.role}, {"step", key.step}, {"class", name_of(point.kind)}};
    if (!point.why.empty()) value["why"] = point.why;
    for (const double each : point.values) value["values"].push_back(number_json(each));
    if (point.kind == Class::kNoise) {
      value["mean"] = number_json(point.mean);
      value["spread"] = json_of(point.spread);
    }
    curves.push_back(std::move(value));
  }
  return curves;
}

json json_of(const Table& table) {
  return {{"layout", table.layout},
          {"places", table.places},
          {"runs", table.runs},
          {"layouts", table.layouts},
          {"steps", table.steps},
          {"configuration", table.configuration},
          {"tensors", entries_json(table)},
          {"kinds", kinds_json(table)},
          {"curves", curves_json(table)}};
}

void read_entries(const json& places, Table& table) {
  for (const auto& place : places) {
    const trace::What what = {place.at("step"), place.at("site"), phase_from(place.at("phase")),
                              place.at("role"), place.value("occurrence", 0)};
    for (const auto& value : place.at("entries")) {
      const Key key = key_from(value, what);
      table.entries[key] = value.contains("copy_of")
                               ? copy_from(table, key, value["copy_of"].get<int32_t>())
                               : entry_from(value);
    }
  }
}

CurvePoint point_from(const json& value) {
  CurvePoint point;
  point.kind = class_from(value.at("class"));
  point.why = value.value("why", "");
  if (value.contains("values")) {
    for (const auto& each : value["values"]) point.values.push_back(number_from(each));
  }
  if (point.kind == Class::kBit && point.values.size() != 1)
    throw std::invalid_argument("a loss without its value");
  if (point.kind != Class::kNoise) return point;
  point.mean = number_from(value.at("mean"));
  point.spread = spread_from(value.at("spread"));
  return point;
}

Table table_from(const json& value) {
  Table table;
  table.layout = value.at("layout");
  table.places = value.at("places");
  table.runs = value.at("runs");
  table.layouts = value.at("layouts");
  table.steps = value.at("steps").get<std::set<int64_t>>();
  value.at("configuration").get_to(table.configuration);
  read_entries(value.at("tensors"), table);
  for (const auto& kind : value.at("kinds")) {
    table.kinds[{kind.at("site"), phase_from(kind.at("phase")), kind.at("role"), kind.at("step")}] =
        {number_from(kind.at("relative_variance")), kind.at("freedom")};
  }
  for (const auto& point : value.at("curves"))
    table.curves[{point.at("site"), point.at("role"), point.at("step")}] = point_from(point);
  return table;
}

}  // namespace

json to_json(const Golden& golden) {
  json tables = json::array();
  for (const Table& table : golden.tables) tables.push_back(json_of(table));
  return {{"thresholds", golden.thresholds},
          {"thresholds_sha256", golden.thresholds_sha256},
          {"repeats_by_word", golden.repeats_by_word},
          {"runs", golden.runs},
          {"tables", tables},
          {"across", json_of(golden.across)}};
}

Golden golden_from_json(const json& value) {
  Golden golden;
  value.at("thresholds").get_to(golden.thresholds);
  golden.thresholds_sha256 = value.at("thresholds_sha256");
  golden.repeats_by_word = value.at("repeats_by_word");
  golden.runs = value.at("runs");
  for (const auto& table : value.at("tables")) golden.tables.push_back(table_from(table));
  golden.across = table_from(value.at("across"));
  return golden;
}

}  // namespace nanhunt::golden
