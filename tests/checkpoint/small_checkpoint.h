// SPDX-License-Identifier: Apache-2.0
// Checkpoints made by hand for the tests: small files of the safetensors format, healthy ones of a
// model of a few layers, and the means to spoil them.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/scan.h"
#include "trace/error.h"

namespace nanhunt::checkpoint::test {

namespace fs = std::filesystem;

struct DraftTensor {
  std::string name, dtype;
  std::vector<int64_t> shape;
  std::string bytes;
};

// A file in the making. Tensors lie in it in the order in which they were added.
class Draft {
 public:
  std::map<std::string, std::string> metadata;

  // Replaces a tensor of that name.
  Draft& add(const std::string& name, const std::string& dtype, std::vector<int64_t> shape,
             const std::string& bytes);
  Draft& floats(const std::string& name, std::vector<int64_t> shape,
                const std::vector<float>& values);
  // F32, values of a fixed generator that `seed` starts.
  Draft& random(const std::string& name, std::vector<int64_t> shape, uint32_t seed);
  Draft& filled(const std::string& name, std::vector<int64_t> shape, float value);
  Draft& set(const std::string& name, int64_t index, float value);  // one element of an F32
  Draft& copy(const std::string& from, const std::string& to);      // the bits of one to the other
  Draft& remove(const std::string& name);
  const DraftTensor& at(const std::string& name) const;

  std::string bytes() const;  // of the whole file
  void write(const fs::path& path) const;

 private:
  std::vector<DraftTensor> tensors_;
};

// Layers with a norm, k_proj, v_proj and a bias, an embedding and a head; every weight drawn.
Draft healthy_model(int layers, uint32_t seed);
// exp_avg, exp_avg_sq and step of the weights of `model`'s layers.
void add_states(Draft* draft, int layers, uint32_t seed, float step);

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// A file with this header, taken as it is, and so many bytes of data.
void write_raw(const fs::path& path, const std::string& header, size_t data_bytes);
void write_text(const fs::path& path, const std::string& text);

// Rule, tensor and severity of each finding: "non_finite layers.0.weight proven".
std::vector<std::string> told(const Report& report);
Report scan_with(const fs::path& path, const fs::path& before = {}, const fs::path& rules = {});

// Text and kind of the trace::Error that `function` throws; "" when it throws none.
template <typename Function>
std::string error_text(Function function, trace::ErrorKind kind = trace::ErrorKind::kUnreadable) {
  try {
    function();
  } catch (const trace::Error& error) {
    return (error.kind() == kind ? "" : "another kind of error: ") + std::string(error.what());
  }
  return "";
}

}  // namespace nanhunt::checkpoint::test
