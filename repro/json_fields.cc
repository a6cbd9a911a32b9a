// SPDX-License-Identifier: Apache-2.0
#include "repro/json_fields.h"

#include <limits>

#include "trace/error.h"

namespace nanhunt::repro {
namespace {

using nlohmann::json;

double number_of(const json& value) {
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (value == "Inf") return std::numeric_limits<double>::infinity();
  if (value == "-Inf") return -std::numeric_limits<double>::infinity();
  return value.get<double>();
}

}  // namespace

void refuse_json(const std::string& why) {
  throw trace::Error(trace::ErrorKind::kUnreadable, why);
}

const json& field(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) refuse_json("it has no '" + std::string(key) + "'");
  return *found;
}

std::string text(const json& object, const char* key) {
  return field(object, key).get<std::string>();
}

std::vector<std::string> texts(const json& object, const char* key) {
  return field(object, key).get<std::vector<std::string>>();
}

double number(const json& object, const char* key) {
  return number_of(field(object, key));
}

std::vector<double> numbers(const json& object, const char* key) {
  std::vector<double> values;
  for (const json& value : field(object, key)) values.push_back(number_of(value));
  return values;
}

void require_schema(const json& object, const json& schema) {
  const json& found = field(object, "schema");
  if (found == schema) return;
  refuse_json("its schema is " + found.dump() + ", and this program reads " + schema.dump());
}

void rethrow_as(const std::string& what) {
  try {
    throw;
  } catch (const json::exception& error) {
    refuse_json("no " + what + ": " + error.what());
  } catch (const trace::Error& error) {
    throw trace::Error(error.kind(), "no " + what + ": " + error.what());
  }
}

}  // namespace nanhunt::repro
