// SPDX-License-Identifier: Apache-2.0
#include "ablate/ledger.h"

#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "trace/error.h"

namespace nanhunt::ablate {
namespace {

using nlohmann::json;

json to_json(const LedgerEntry& entry) {
  return {{"key", entry.key},
          {"purpose", entry.purpose},
          {"settings", entry.settings},
          {"end", static_cast<int>(entry.outcome.end)},
          {"status", entry.outcome.status},
          {"seconds", entry.outcome.seconds},
          {"outcome", describe(entry.outcome)}};
}

std::optional<LedgerEntry> from_line(const std::string& line) {
  const json fields = json::parse(line, nullptr, false);
  if (!fields.is_object() || !fields.contains("key") || !fields.contains("end")) return {};
  LedgerEntry entry;
  entry.key = fields["key"];
  entry.purpose = fields.value("purpose", "");
  entry.settings = fields.value("settings", "");
  entry.outcome.end = static_cast<ChildEnd>(fields.value("end", 0));
  entry.outcome.status = fields.value("status", 0);
  entry.outcome.seconds = fields.value("seconds", 0.0);
  return entry;
}

}  // namespace

std::string hash_of(const std::string& text) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(text.data(), text.size())));
  return digits;
}

std::string program_identity(const CommandLine& line) {
  std::string identity;
  for (const std::string& word : line.words) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(word, error)) continue;
    identity +=
        word + " " + std::to_string(std::filesystem::file_size(word, error)) + " " +
        std::to_string(std::filesystem::last_write_time(word, error).time_since_epoch().count()) +
        "\n";
  }
  return identity;
}

Ledger::Ledger(std::filesystem::path file) : file_(std::move(file)) {
  std::ifstream stream(file_);
  for (std::string line; std::getline(stream, line);) {
    if (auto entry = from_line(line)) entries_[entry->key] = *entry;
  }
}

std::optional<LedgerEntry> Ledger::find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  return found == entries_.end() ? std::nullopt : std::optional(found->second);
}

void Ledger::add(const LedgerEntry& entry) {
  const std::lock_guard lock(mutex_);
  entries_[entry.key] = entry;
  std::ofstream stream(file_, std::ios::app);
  stream << to_json(entry).dump() << "\n" << std::flush;
  if (!stream) throw trace::cannot_write(file_);
}

double Ledger::typical_seconds() const {
  const std::lock_guard lock(mutex_);
  std::vector<double> seconds;
  for (const auto& [key, entry] : entries_) seconds.push_back(entry.outcome.seconds);
  if (seconds.empty()) return 0;
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<long>(seconds.size() / 2),
                   seconds.end());
  return seconds[seconds.size() / 2];
}

}  // namespace nanhunt::ablate
