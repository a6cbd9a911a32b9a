// SPDX-License-Identifier: Apache-2.0
// Values of a JSON object by key, for what reads results. All throw Error(kUnreadable) that names
// the key where it is missing or its value is none of those allowed; nlohmann::json::exception
// where it is of another type (read_as takes both).
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace nanhunt::repro {

[[noreturn]] void refuse_json(const std::string& why);

const nlohmann::json& field(const nlohmann::json& object, const char* key);
std::string text(const nlohmann::json& object, const char* key);
std::vector<std::string> texts(const nlohmann::json& object, const char* key);
// NaN and Inf are the strings "NaN", "Inf", "-Inf".
double number(const nlohmann::json& object, const char* key);
std::vector<double> numbers(const nlohmann::json& object, const char* key);
void require_schema(const nlohmann::json& object, const nlohmann::json& schema);

// The value whose name_of stands there.
template <typename E>
E named(const nlohmann::json& object, const char* key, std::initializer_list<E> values) {
  const std::string name = text(object, key);
  for (const E value : values) {
    if (name_of(value) == name) return value;
  }
  refuse_json("'" + std::string(key) + "' is '" + name + "'");
}

// read(object), whose errors become "no WHAT: ...".
[[noreturn]] void rethrow_as(const std::string& what);
template <typename Read>
auto read_as(const std::string& what, const nlohmann::json& object, const Read& read) {
  try {
    if (!object.is_object()) refuse_json("it is no JSON object");
    return read(object);
  } catch (...) {
    rethrow_as(what);
  }
}

}  // namespace nanhunt::repro
