// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/layout.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "checkpoint/index_file.h"
#include "trace/error.h"

namespace nanhunt::checkpoint {
namespace {

namespace fs = std::filesystem;

const std::string kSuffix = ".safetensors";
const std::string kIndexSuffix = ".safetensors.index.json";

bool is_pickle(const std::string& name) {
  static const std::set<std::string> suffixes = {".bin", ".pt", ".pth", ".ckpt", ".pkl", ".distcp"};
  return suffixes.contains(fs::path(name).extension().string());
}

struct Found {
  std::vector<fs::path> tensors, indices, pickles;
};

Found look_below(const fs::path& root) {
  Found found;
  const auto sort_in = [&](const fs::path& path) {
    const std::string name = path.filename().string();
    if (name.ends_with(kSuffix)) found.tensors.push_back(path);
    if (name.ends_with(kIndexSuffix)) found.indices.push_back(path);
    if (is_pickle(name)) found.pickles.push_back(path);
  };
  if (fs::is_regular_file(root)) {
    sort_in(root);
    return found;
  }
  if (!fs::is_directory(root)) return found;
  std::error_code error;
  fs::recursive_directory_iterator entry(root, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    if (entry->is_regular_file()) sort_in(entry->path());  // also through a link, as in HF's cache
  }
  if (error) {
    throw trace::Error(trace::ErrorKind::kUnreadable,
                       root.string() + ": cannot be listed: " + error.message());
  }
  return found;
}

std::string relative_name(const fs::path& root, const fs::path& path) {
  return root == path ? path.filename().string() : path.lexically_relative(root).generic_string();
}

// Numbers in numeric order: rank-2 before rank-10.
std::vector<std::pair<std::string, uint64_t>> natural_key(const std::string& name) {
  std::vector<std::pair<std::string, uint64_t>> key;
  for (size_t i = 0; i < name.size();) {
    std::string letters;
    while (i < name.size() && !std::isdigit(static_cast<unsigned char>(name[i]))) {
      letters += name[i++];
    }
    uint64_t number = 0;
    while (i < name.size() && std::isdigit(static_cast<unsigned char>(name[i]))) {
      number = number * 10 + static_cast<uint64_t>(name[i++] - '0');
    }
    key.emplace_back(letters, number);
  }
  return key;
}

std::string without_numbers(const std::string& name) {
  static const std::regex digits("[0-9]+");
  return std::regex_replace(name, digits, "#");
}

// Folders of one run's saves: checkpoint-500, global_step1000, step_20, iter_0000100.
void refuse_several_checkpoints(const fs::path& root, const std::vector<CheckpointFile>& files) {
  static const std::regex save(
      "(checkpoint|ckpt|global_step|step|iter|iteration|epoch)[-_]?[0-9]+");
  std::map<std::string, std::set<std::string>> saves;  // by the path above them
  for (const CheckpointFile& file : files) {
    fs::path above;
    for (const fs::path& part : fs::path(file.name).parent_path()) {
      if (std::regex_match(part.string(), save)) {
        saves[above.generic_string()].insert((above / part).generic_string());
      }
      above /= part;
    }
  }
  for (const auto& [above, names] : saves) {
    if (names.size() < 2) continue;
    throw trace::Error(trace::ErrorKind::kUsage,
                       root.string() + " holds several checkpoints (" + *names.begin() + ", " +
                           *std::next(names.begin()) + "): name one of them");
  }
}

// A config that cannot be read says nothing; it is no part of the weights.
bool says_tied(const fs::path& folder) {
  std::ifstream file(folder / "config.json", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const nlohmann::json config = nlohmann::json::parse(text, nullptr, false);
  return config.is_object() && config.value("tie_word_embeddings", nlohmann::json()) == true;
}

class Units {
 public:
  explicit Units(Checkpoint& checkpoint) : checkpoint_(checkpoint) {
    for (CheckpointFile& file : checkpoint_.files) file.unit = -1;
  }

  void join_indexed(const IndexFile& index) {
    const std::set<std::string> named = index.files();
    std::set<std::string> shapes;
    const int unit = checkpoint_.units++;
    for (CheckpointFile* file : beside(index.path)) {
      if (!named.contains(file->header.path.filename().string())) continue;
      require_as_indexed(index, file->header);
      file->unit = unit;
      shapes.insert(file->shape);
    }
    for (CheckpointFile* file : beside(index.path)) {
      if (file->unit >= 0) continue;
      if (shapes.contains(file->shape)) {
        throw trace::Error(trace::ErrorKind::kUnreadable,
                           file->header.path.string() + ": the index " +
                               index.path.filename().string() +
                               " does not name this file: left over from another save?");
      }
      checkpoint_.not_named.push_back(file->name);
    }
  }

  // NAME-00001-of-00003.safetensors, all three there.
  void join_counted() {
    static const std::regex counted("(.*[^0-9])([0-9]+)-of-([0-9]+)(\\.safetensors)");
    std::map<std::string, std::map<std::string, CheckpointFile*>> sets;
    std::map<std::string, size_t> sizes;
    for (CheckpointFile& file : checkpoint_.files) {
      std::smatch match;
      if (file.unit >= 0 || !std::regex_match(file.name, match, counted)) continue;
      const std::string key = match[1].str() + "*-of-" + match[3].str();
      sets[key][match[2]] = &file;
      sizes[key] = std::stoul(match[3].str().substr(0, 9));
    }
    for (auto& [key, files] : sets) {
      if (files.size() < sizes[key]) {
        throw trace::Error(trace::ErrorKind::kUnreadable,
                           (checkpoint_.root / key).string() + kSuffix + ": " +
                               std::to_string(files.size()) + " files are there of " +
                               std::to_string(sizes[key]));
      }
      if (holds_a_name_twice(files)) continue;  // copies or shards by rank
      const int unit = checkpoint_.units++;
      for (auto& [number, file] : files) file->unit = unit;
    }
  }

  void close() {
    for (CheckpointFile& file : checkpoint_.files) {
      if (file.unit < 0) file.unit = checkpoint_.units++;
    }
    checkpoint_.tied.resize(static_cast<size_t>(checkpoint_.units));
    for (const CheckpointFile& file : checkpoint_.files) {
      checkpoint_.tied[static_cast<size_t>(file.unit)] = says_tied(file.header.path.parent_path());
    }
  }

 private:
  static bool holds_a_name_twice(const std::map<std::string, CheckpointFile*>& files) {
    std::set<std::string> names;
    for (const auto& [number, file] : files) {
      for (const TensorEntry& tensor : file->header.tensors) {
        if (!names.insert(tensor.name).second) return true;
      }
    }
    return false;
  }

  std::vector<CheckpointFile*> beside(const fs::path& index) {
    std::vector<CheckpointFile*> files;
    for (CheckpointFile& file : checkpoint_.files) {
      if (file.header.path.parent_path() == index.parent_path()) files.push_back(&file);
    }
    return files;
  }

  Checkpoint& checkpoint_;
};

}  // namespace

bool holds_checkpoint(const fs::path& path) {
  const Found found = look_below(path);
  return !found.tensors.empty() || !found.indices.empty();
}

bool holds_pickles(const fs::path& path) {
  return !look_below(path).pickles.empty();
}

std::string why_no_checkpoint(const fs::path& path) {
  if (!fs::exists(path)) return path.string() + ": no such file or folder";
  const Found found = look_below(path);
  const std::string text =
      path.string() + ": neither a trace (step-*/rank-*.h5) nor a checkpoint (*.safetensors)";
  if (found.pickles.empty()) return text;
  return text + "; pickle files such as " + relative_name(path, found.pickles.front()) +
         " run code when they are opened, nanhunt does not open them; convert without running any: "
         "python -m nanhunt.checkpoint " +
         path.string() + " OUT";
}

Checkpoint open_checkpoint(const fs::path& path) {
  const Found found = look_below(path);
  Checkpoint checkpoint;
  checkpoint.root = path;
  for (const fs::path& file : found.tensors) {
    const std::string name = relative_name(path, file);
    CheckpointFile& added = checkpoint.files.emplace_back();
    added.header.path = file;
    added.name = name;
    added.shape = without_numbers(name);
  }
  std::sort(checkpoint.files.begin(), checkpoint.files.end(),
            [](const CheckpointFile& a, const CheckpointFile& b) {
              return std::pair(natural_key(a.name), a.name) <
                     std::pair(natural_key(b.name), b.name);
            });
  refuse_several_checkpoints(path, checkpoint.files);
  for (CheckpointFile& file : checkpoint.files) file.header = read_header(file.header.path);
  Units units(checkpoint);
  for (const fs::path& index : found.indices) units.join_indexed(read_index(index));
  units.join_counted();
  units.close();
  for (const fs::path& pickle : found.pickles) {
    checkpoint.not_read.push_back(relative_name(path, pickle));
  }
  std::sort(checkpoint.not_read.begin(), checkpoint.not_read.end());
  return checkpoint;
}

}  // namespace nanhunt::checkpoint
