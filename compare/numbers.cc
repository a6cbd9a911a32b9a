// SPDX-License-Identifier: Apache-2.0
#include "compare/numbers.h"

#include <cmath>
#include <cstdio>

namespace nanhunt::compare {

std::string short_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Inf" : "-Inf";
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string join(const std::vector<std::string>& parts, const std::string& between) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

std::string list_of(const std::vector<int32_t>& numbers) {
  std::string text;
  for (const auto number : numbers) text += (text.empty() ? "" : " ") + std::to_string(number);
  return text;
}

}  // namespace nanhunt::compare
