// SPDX-License-Identifier: Apache-2.0
// Which files make up a checkpoint, and which of them belong together.
//
//   one file                 x.safetensors
//   an indexed set           files that an x.safetensors.index.json beside them names
//   a counted set            model-00001-of-00003.safetensors and its like, no tensor in two of
//   them copies by rank           files whose paths differ in their numbers alone:
//   rank-00000.safetensors,
//                            mp_rank_01/model.safetensors
//
// in the folder itself or anywhere below it. A *unit* is what holds each of its tensors once: an
// indexed set, a counted set, or a single file. Nothing is opened but safetensors files, their
// indices, and config.json.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "checkpoint/tensor_kind.h"
#include "checkpoint/tensor_pass.h"

namespace nanhunt::checkpoint {

struct CheckpointFile {
  FileHeader header;
  std::string name;   // path below the checkpoint's folder, with forward slashes
  std::string shape;  // the name with each number replaced by "#"
  int unit = 0;
  // Of a capsule, beside the header's tensors: what was known when it was written. Of a file empty:
  // kinds are told by names, facts by a pass over the data.
  std::vector<TensorKind> kinds = {};
  std::vector<TensorFacts> facts = {};
  // Ranks that hold the element; index -1: any of the tensor.
  std::function<std::vector<int32_t>(const TensorEntry& tensor, int64_t index)> ranks = {};
};

struct Checkpoint {
  std::filesystem::path root;         // the argument
  std::vector<CheckpointFile> files;  // by name, numbers in numeric order
  int units = 0;
  std::vector<std::string> not_read;   // pickle files, which run code when they are opened
  std::vector<std::string> not_named;  // files beside an index that does not name them
  std::vector<std::string> notes;      // what was not made sense of, for the coverage
  std::vector<bool> tied;              // by unit: config.json beside it says tie_word_embeddings
};

// Looks at names alone: a safetensors file, or a folder below which one, or an index of some, lies.
bool holds_checkpoint(const std::filesystem::path& path);
// The same of pickle files and of torch.distributed.checkpoint, which only Python reads.
bool holds_pickles(const std::filesystem::path& path);
// "no safetensors file below FOLDER ..." with what is there instead: pickle files.
std::string why_no_checkpoint(const std::filesystem::path& path);

// Throws Error(kUnreadable) as read_header does, and for an index that is no index, names a file
// that is missing, or a tensor that its file does not hold, or leaves out one that it holds; for a
// counted set with a file missing, and for a file that looks like one of an indexed set and is not
// named by the index (left over from another save).
// Throws Error(kUsage) when the folder holds several checkpoints (checkpoint-500, checkpoint-1000).
Checkpoint open_checkpoint(const std::filesystem::path& path);

}  // namespace nanhunt::checkpoint
