// SPDX-License-Identifier: Apache-2.0
#include "golden/json_values.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace nanhunt::golden {
namespace {

constexpr size_t kDigits = 16;

uint64_t word_of(std::string_view digits) {
  uint64_t word = 0;
  const char* end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, word, 16);
  if (digits.size() != kDigits || error != std::errc() || stopped != end)
    throw std::invalid_argument("not 16 hexadecimal digits");
  return word;
}

}  // namespace

std::string hex(uint64_t word) {
  char text[kDigits + 1];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(word));
  return text;
}

nlohmann::json number_json(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Inf" : "-Inf";
  return value;
}

nlohmann::json sketch_json(const trace::Sketch& sketch) {
  std::string text;
  for (const double bucket : sketch) text += hex(std::bit_cast<uint64_t>(bucket));
  return text;
}

uint64_t word_from(const nlohmann::json& json) {
  return word_of(json.get_ref<const std::string&>());
}

double number_from(const nlohmann::json& json) {
  if (!json.is_string()) return json.get<double>();
  const auto& text = json.get_ref<const std::string&>();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Inf") return std::numeric_limits<double>::infinity();
  if (text == "-Inf") return -std::numeric_limits<double>::infinity();
  throw std::invalid_argument("not a number");
}

trace::Sketch sketch_from(const nlohmann::json& json) {
  const std::string_view text = json.get_ref<const std::string&>();
  trace::Sketch sketch;
  if (text.size() != sketch.size() * kDigits) throw std::invalid_argument("not a sketch");
  for (size_t i = 0; i < sketch.size(); ++i)
    sketch[i] = std::bit_cast<double>(word_of(text.substr(i * kDigits, kDigits)));
  return sketch;
}

}  // namespace nanhunt::golden
