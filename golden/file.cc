// SPDX-License-Identifier: Apache-2.0
#include "golden/file.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "golden/content.h"
#include "oracle/sha256.h"
#include "trace/error.h"

namespace nanhunt::golden {
namespace {

using nlohmann::json;

constexpr std::string_view kStart = "{\"nanhunt_golden\":";
constexpr std::string_view kHash = ",\"sha256\":\"";
constexpr std::string_view kContent = "\",\"content\":";
constexpr std::string_view kEnd = "}\n";
constexpr size_t kHashDigits = 64;

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& reason) {
  throw trace::Error(trace::ErrorKind::kUnreadable, path.string() + ": " + reason);
}

std::string head(int version, const std::string& hash) {
  return std::string(kStart) + std::to_string(version) + std::string(kHash) + hash +
         std::string(kContent);
}

// The number after the start; 0 when there is none.
int version_of(const std::string& text) {
  return std::atoi(text.substr(kStart.size(), 9).c_str());
}

// What the hash is of, to the byte: another white space is another file.
std::string content_of(const std::filesystem::path& path, const std::string& text) {
  if (!text.starts_with(kStart)) refuse(path, "not a golden file of nanhunt");
  const int version = version_of(text);
  if (version > kFileVersion) {
    refuse(path, "written by a newer nanhunt (version " + std::to_string(version) +
                     "; this one reads up to " + std::to_string(kFileVersion) + ")");
  }
  if (!text.ends_with(kEnd)) refuse(path, "cut short: its end is missing");
  const std::string form = head(kFileVersion, std::string(kHashDigits, '0'));
  const std::string changed = "changed since it was exported: its SHA-256 is another one";
  if (version != kFileVersion || text.size() < form.size() + kEnd.size()) refuse(path, changed);
  const std::string hash = text.substr(kStart.size() + 1 + kHash.size(), kHashDigits);
  std::string content = text.substr(form.size(), text.size() - form.size() - kEnd.size());
  const bool whole = text.starts_with(head(version, hash)) && oracle::sha256(content) == hash;
  if (!whole) refuse(path, changed);
  return content;
}

}  // namespace

Written write_golden(const Golden& golden, const std::filesystem::path& path) {
  const std::string content = to_json(golden).dump();
  const std::string hash = oracle::sha256(content);
  const std::string text = head(kFileVersion, hash) + content + std::string(kEnd);
  const auto part = path.string() + ".part";
  std::ofstream file(part, std::ios::binary);
  file << text;
  file.close();
  std::error_code failed;
  if (file) std::filesystem::rename(part, path, failed);
  if (!file || failed) {
    const trace::Error error = trace::cannot_write(path);
    std::filesystem::remove(part, failed);
    throw error;
  }
  return {static_cast<int64_t>(text.size()), hash};
}

Golden read_golden(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) refuse(path, "cannot be opened");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string content = content_of(path, text);
  try {
    return golden_from_json(json::parse(content));
  } catch (const std::exception& fault) {
    refuse(path, std::string("not a golden file of nanhunt (") + fault.what() + ")");
  }
}

}  // namespace nanhunt::golden
