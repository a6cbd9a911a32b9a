// SPDX-License-Identifier: Apache-2.0
// model.safetensors.index.json: which file of a set holds which tensor.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "checkpoint/safetensors.h"

namespace nanhunt::checkpoint {

struct IndexFile {
  std::filesystem::path path;
  std::map<std::string, std::string> file_of;  // "weight_map": tensor -> file name

  std::set<std::string> files() const;
};

// Throws Error(kUnreadable), one line with the file and the place in it.
IndexFile read_index(const std::filesystem::path& path);
// The file holds what the index says, no less and no more. Throws Error(kUnreadable).
void require_as_indexed(const IndexFile& index, const FileHeader& file);

}  // namespace nanhunt::checkpoint
