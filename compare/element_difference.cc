// SPDX-License-Identifier: Apache-2.0
#include "compare/element_difference.h"

#include <cmath>
#include <cstdio>
#include <vector>

namespace nanhunt::compare {
namespace {

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

std::string indices(int64_t element, const std::vector<int64_t>& shape) {
  std::string text;
  for (auto size = shape.rbegin(); size != shape.rend(); ++size) {
    const std::string index = std::to_string(element % *size);
    text = text.empty() ? index : index + ", " + text;
    element /= *size;
  }
  return "[" + text + "]";
}

// Neighbours in FP32 must read as two numbers.
std::string exact(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

}  // namespace

std::string element_difference(const trace::TraceReader& reader, const trace::Record& record,
                               const trace::TraceReader& other_reader, const trace::Record& other) {
  if (!record.has_values || !other.has_values || record.local_shape != other.local_shape) return "";
  const auto mine = reader.read_doubles(record), theirs = other_reader.read_doubles(other);
  int64_t differing = 0, first = -1;
  for (size_t i = 0; i < mine.size(); ++i) {
    if (same(mine[i], theirs[i])) continue;
    if (first < 0) first = static_cast<int64_t>(i);
    ++differing;
  }
  if (first < 0) return "";
  const auto at = static_cast<size_t>(first);
  return std::to_string(differing) + " of " + std::to_string(mine.size()) +
         " elements differ, first " + indices(first, record.local_shape) + " (element " +
         std::to_string(first) + "): " + exact(mine[at]) + " against " + exact(theirs[at]);
}

}  // namespace nanhunt::compare
