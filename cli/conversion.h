// SPDX-License-Identifier: Apache-2.0
// Checkpoints that only Python reads, as capsules: `python -m nanhunt.checkpoint` in a child, into
// a temporary folder (docs/checkpoints.md). This program opens no pickle file itself.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace nanhunt::cli {

struct ConvertedCapsule {
  std::filesystem::path folder;
  std::vector<std::string> files;  // that it was made of, below the checkpoint
  std::string by_rank;             // the one that others have the names of; "" without one
};

// What conversion.json says.
struct Converted {
  std::vector<ConvertedCapsule> capsules;
  std::vector<std::string> not_read, notes;
};

// Whether the folder is what a conversion left.
bool holds_conversion(const std::filesystem::path& folder);
// Throws Error(kUnreadable).
Converted read_conversion(const std::filesystem::path& folder);

// The Python that NANHUNT_PYTHON names, as for jobs and `nanhunt doctor`; "" where it names none.
std::string named_python();

// Goes with its folder.
class Conversion {
 public:
  // pickles_only: what lies in safetensors is left to this program. Throws Error(kUnreadable) with
  // the line that Python said, and Error(kUsage) without a Python, with what to run.
  Conversion(const std::filesystem::path& checkpoint, bool pickles_only);
  ~Conversion();
  Conversion(const Conversion&) = delete;
  Conversion& operator=(const Conversion&) = delete;

  const Converted& result() const { return result_; }

 private:
  std::filesystem::path folder_;
  Converted result_;
};

}  // namespace nanhunt::cli
