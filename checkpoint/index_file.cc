// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/index_file.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "trace/error.h"

namespace nanhunt::checkpoint {
namespace {

using nlohmann::json;

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& reason) {
  throw trace::Error(trace::ErrorKind::kUnreadable, path.string() + ": " + reason);
}

json parse_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(path, "cannot be opened");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    return json::parse(text);
  } catch (const json::exception&) {
    fail(path, "no valid JSON");
  }
}

}  // namespace

std::set<std::string> IndexFile::files() const {
  std::set<std::string> names;
  for (const auto& [tensor, file] : file_of) names.insert(file);
  return names;
}

IndexFile read_index(const std::filesystem::path& path) {
  const json document = parse_file(path);
  if (!document.is_object() || !document.contains("weight_map") ||
      !document["weight_map"].is_object()) {
    fail(path, "no index: an object \"weight_map\" is missing");
  }
  IndexFile index{path, {}};
  for (const auto& [tensor, file] : document["weight_map"].items()) {
    if (!file.is_string()) fail(path, "tensor " + tensor + ": its file is no text");
    const auto name = file.get<std::string>();
    // Names of files beside the index; anything else would lead out of the checkpoint.
    if (name.empty() || name != std::filesystem::path(name).filename()) {
      fail(path, "tensor " + tensor + ": \"" + name + "\" is no name of a file beside the index");
    }
    if (!std::filesystem::is_regular_file(path.parent_path() / name)) {
      fail(path, "tensor " + tensor + " is in " + name + ", and that file is missing");
    }
    index.file_of[tensor] = name;
  }
  return index;
}

void require_as_indexed(const IndexFile& index, const FileHeader& file) {
  const std::string name = file.path.filename().string();
  std::set<std::string> held;
  for (const TensorEntry& tensor : file.tensors) {
    held.insert(tensor.name);
    const auto entry = index.file_of.find(tensor.name);
    if (entry == index.file_of.end()) {
      fail(file.path, "tensor " + tensor.name + ": the index " + index.path.filename().string() +
                          " does not name it");
    }
    if (entry->second != name) {
      fail(file.path, "tensor " + tensor.name + ": the index " + index.path.filename().string() +
                          " says that it is in " + entry->second);
    }
  }
  for (const auto& [tensor, holder] : index.file_of) {
    if (holder == name && !held.contains(tensor)) {
      fail(index.path, "tensor " + tensor + " should be in " + name + " and is not");
    }
  }
}

}  // namespace nanhunt::checkpoint
