// SPDX-License-Identifier: Apache-2.0
// One file of the safetensors format (https://github.com/huggingface/safetensors#format): 8 bytes
// with the header's length, a header in JSON, and the tensors, row-major, without a gap. The header
// is checked whole before a byte of a tensor is read; data are read in windows, so memory does not
// grow with the file.
//
// Errors are trace::Error(kUnreadable), one line that names the file and the tensor:
//   "FILE: tensor NAME: ..." or "FILE: ...".
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/element_type.h"

namespace nanhunt::checkpoint {

// The format's own limit of a header.
inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;

struct TensorEntry {
  std::string name;
  const ElementType* type = nullptr;
  std::vector<int64_t> shape;
  int64_t elements = 0;
  int64_t offset = 0;  // of its first byte in the file
  int64_t bytes = 0;
};

// Bytes [start, start + out.size()) of a tensor whose data lie in no safetensors file.
using ReadBytes =
    std::function<void(const TensorEntry& tensor, int64_t start, std::span<std::byte> out)>;

struct FileHeader {
  std::filesystem::path path;
  int64_t file_bytes = 0;
  std::vector<TensorEntry> tensors;             // in the order of their data
  std::map<std::string, std::string> metadata;  // "__metadata__"
  ReadBytes read = {};                          // of a capsule; empty: `path` holds them
};

// Refused: an empty or truncated file, a header that is longer than the file or than the limit, no
// JSON object, a key that is there twice, an unknown type, a shape or offsets that are no whole
// numbers, offsets that do not fit type and shape, overlap, leave a hole, or reach out of the file,
// and bytes behind the last tensor.
FileHeader read_header(const std::filesystem::path& path);

// The same from the header's text alone (`path` for messages); `data_bytes` follow it in the file.
FileHeader parse_header(const std::filesystem::path& path, const std::string& text,
                        int64_t data_bytes);

// An open file. Not thread safe.
class TensorData {
 public:
  explicit TensorData(const FileHeader& header);  // must outlive this
  ~TensorData();
  TensorData(const TensorData&) = delete;
  TensorData& operator=(const TensorData&) = delete;

  // Bytes [start, start + out.size()) of the tensor's data.
  void read(const TensorEntry& tensor, int64_t start, std::span<std::byte> out) const;

 private:
  const FileHeader& header_;
  int descriptor_ = -1;
};

// [0, bytes) in pieces of kWindowBytes, a multiple of every element's size and of 8 elements; calls
// use(start, span of the bytes read). One buffer per call.
inline constexpr int64_t kWindowBytes = 3 << 18;  // 768 KiB: stays in the cache of a core

template <class Use>
void for_each_window(const TensorData& data, const TensorEntry& tensor, Use use) {
  std::vector<std::byte> buffer(
      static_cast<size_t>(tensor.bytes < kWindowBytes ? tensor.bytes : kWindowBytes));
  for (int64_t start = 0; start < tensor.bytes; start += kWindowBytes) {
    const int64_t left = tensor.bytes - start;
    const std::span<std::byte> window(
        buffer.data(), static_cast<size_t>(left < kWindowBytes ? left : kWindowBytes));
    data.read(tensor, start, window);
    if (!use(start, std::span<const std::byte>(window))) return;
  }
}

// [17, 5] of a flat index, row-major; [] of a scalar.
std::vector<int64_t> place_of(const TensorEntry& tensor, int64_t index);

}  // namespace nanhunt::checkpoint
