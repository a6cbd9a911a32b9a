// SPDX-License-Identifier: Apache-2.0
#include "oracle/thresholds.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "oracle/sha256.h"
#include "trace/check.h"
#include "trace/error.h"

namespace nanhunt::oracle {
namespace {

// Shortest text that reads back to the same double, so that equal numbers hash equally.
std::string number_text(double value) {
  return nlohmann::json(value).dump();
}

std::filesystem::path beside_program() {
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return program.parent_path().parent_path() / "share/nanhunt/thresholds.json";
}

}  // namespace

Thresholds Thresholds::read(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw trace::Error(trace::ErrorKind::kUsage, path.string() + ": cannot be read");
  const auto json = nlohmann::json::parse(file, nullptr, false);
  if (!json.is_object()) {
    throw trace::Error(trace::ErrorKind::kUsage, path.string() + ": not a JSON object");
  }
  Thresholds thresholds;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_number()) {
      throw trace::Error(trace::ErrorKind::kUsage, path.string() + ": " + key + " is not a number");
    }
    thresholds.values_[key] = value.get<double>();
  }
  return thresholds;
}

Thresholds Thresholds::installed() {
  const auto path = beside_program();
  return read(std::filesystem::exists(path) ? path
                                            : std::filesystem::path(NANHUNT_THRESHOLDS_FILE));
}

void Thresholds::override_with(const std::string& key, double value) {
  const auto found = values_.find(key);
  if (found == values_.end()) {
    std::string known;
    for (const auto& entry : values_) known += (known.empty() ? "" : ", ") + entry.first;
    throw trace::Error(trace::ErrorKind::kUsage,
                       "unknown threshold '" + key + "'; there are: " + known);
  }
  found->second = value;
}

double Thresholds::operator[](const std::string& key) const {
  const auto found = values_.find(key);
  NANHUNT_CHECK(found != values_.end());
  return found->second;
}

std::string Thresholds::sha256() const {
  std::string text;
  for (const auto& [key, value] : values_) text += key + "=" + number_text(value) + "\n";
  return oracle::sha256(text);
}

}  // namespace nanhunt::oracle
