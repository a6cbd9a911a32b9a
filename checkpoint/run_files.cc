// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/run_files.h"

#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "trace/error.h"

namespace nanhunt::checkpoint {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path beside(const fs::path& checkpoint, const char* name) {
  return (fs::is_directory(checkpoint) ? checkpoint : checkpoint.parent_path()) / name;
}

// Python's json writes NaN and Infinity, which JSON has not; only outside of texts.
std::string without_python_numbers(const std::string& text) {
  std::string clean;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"' && (i == 0 || text[i - 1] != '\\')) quoted = !quoted;
    bool replaced = false;
    for (const char* word : {"-Infinity", "Infinity", "NaN"}) {
      if (quoted || text.compare(i, std::string(word).size(), word) != 0) continue;
      clean += "\"" + std::string(word) + "\"";
      i += std::string(word).size() - 1;
      replaced = true;
      break;
    }
    if (!replaced) clean += text[i];
  }
  return clean;
}

std::optional<json> read_object(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  json document = json::parse(without_python_numbers(text), nullptr, false);
  if (!document.is_object()) {
    throw trace::Error(trace::ErrorKind::kUnreadable, path.string() + ": is no JSON object");
  }
  return document;
}

std::optional<double> number_of(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

void flatten(const json& value, const std::string& key, std::map<std::string, std::string>* out) {
  if (!value.is_object()) {
    (*out)[key] = value.dump();
    return;
  }
  for (const auto& [name, inner] : value.items())
    flatten(inner, key.empty() ? name : key + "." + name, out);
}

}  // namespace

std::optional<TrainerState> read_trainer_state(const fs::path& checkpoint) {
  const auto document = read_object(beside(checkpoint, "trainer_state.json"));
  if (!document) return std::nullopt;
  TrainerState state;
  const auto step = document->find("global_step");
  if (step != document->end() && step->is_number_integer()) state.step = step->get<int64_t>();
  if (const auto epoch = document->find("epoch"); epoch != document->end())
    state.epoch = number_of(*epoch);
  const auto history = document->find("log_history");
  if (history == document->end() || !history->is_array()) return state;
  for (const json& entry : *history) {
    if (!entry.is_object() || !entry.contains("loss") || !entry.contains("step")) continue;
    const auto loss = number_of(entry["loss"]);
    if (loss && entry["step"].is_number_integer())
      state.loss.emplace_back(entry["step"].get<int64_t>(), *loss);
  }
  return state;
}

std::map<std::string, std::string> read_config(const fs::path& checkpoint) {
  static const std::set<std::string> kNoModel = {"_name_or_path", "transformers_version",
                                                 "torch_dtype",   "dtype",
                                                 "use_cache",     "_attn_implementation_autoset"};
  std::map<std::string, std::string> config;
  if (const auto document = read_object(beside(checkpoint, "config.json")))
    flatten(*document, "", &config);
  for (const std::string& key : kNoModel) config.erase(key);
  return config;
}

}  // namespace nanhunt::checkpoint
