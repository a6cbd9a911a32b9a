// SPDX-License-Identifier: Apache-2.0
#include "tests/checkpoint/small_checkpoint.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

namespace nanhunt::checkpoint::test {
namespace {

int64_t elements_of(const std::vector<int64_t>& shape) {
  int64_t elements = 1;
  for (const int64_t size : shape) elements *= size;
  return elements;
}

}  // namespace

Draft& Draft::add(const std::string& name, const std::string& dtype, std::vector<int64_t> shape,
                  const std::string& bytes) {
  const auto known = std::find_if(tensors_.begin(), tensors_.end(),
                                  [&](const DraftTensor& tensor) { return tensor.name == name; });
  if (known != tensors_.end()) {
    *known = {name, dtype, std::move(shape), bytes};
  } else {
    tensors_.push_back({name, dtype, std::move(shape), bytes});
  }
  return *this;
}

Draft& Draft::floats(const std::string& name, std::vector<int64_t> shape,
                     const std::vector<float>& values) {
  return add(name, "F32", std::move(shape), bytes_of(values));
}

Draft& Draft::random(const std::string& name, std::vector<int64_t> shape, uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<float> values(static_cast<size_t>(elements_of(shape)));
  for (float& value : values) {
    value = static_cast<float>(generator() % 100000) / 50000.0f - 1.0f;
  }
  return floats(name, std::move(shape), values);
}

Draft& Draft::filled(const std::string& name, std::vector<int64_t> shape, float value) {
  const auto count = static_cast<size_t>(elements_of(shape));
  return floats(name, std::move(shape), std::vector<float>(count, value));
}

Draft& Draft::set(const std::string& name, int64_t index, float value) {
  std::string bytes = at(name).bytes;
  std::memcpy(bytes.data() + index * 4, &value, sizeof value);
  return add(name, "F32", at(name).shape, bytes);
}

Draft& Draft::copy(const std::string& from, const std::string& to) {
  const DraftTensor source = at(from);
  return add(to, source.dtype, source.shape, source.bytes);
}

Draft& Draft::remove(const std::string& name) {
  std::erase_if(tensors_, [&](const DraftTensor& tensor) { return tensor.name == name; });
  return *this;
}

const DraftTensor& Draft::at(const std::string& name) const {
  for (const DraftTensor& tensor : tensors_) {
    if (tensor.name == name) return tensor;
  }
  throw std::runtime_error("no tensor " + name);
}

std::string Draft::bytes() const {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::string data;
  for (const DraftTensor& tensor : tensors_) {
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    data += tensor.bytes;
  }
  const std::string text = header.dump();
  return bytes_of(std::vector<uint64_t>{text.size()}) + text + data;
}

void Draft::write(const fs::path& path) const {
  write_text(path, bytes());
}

Draft healthy_model(int layers, uint32_t seed) {
  Draft draft;
  draft.random("model.embed_tokens.weight", {32, 8}, seed);
  for (int layer = 0; layer < layers; ++layer) {
    const std::string name = "model.layers." + std::to_string(layer) + ".";
    const uint32_t own = seed + 10 * static_cast<uint32_t>(layer + 1);
    draft.random(name + "input_layernorm.weight", {8}, own);
    draft.random(name + "self_attn.k_proj.weight", {8, 8}, own + 1);
    draft.random(name + "self_attn.v_proj.weight", {8, 8}, own + 2);
    draft.random(name + "self_attn.v_proj.bias", {8}, own + 3);
  }
  draft.random("lm_head.weight", {32, 8}, seed + 5);
  return draft;
}

void add_states(Draft* draft, int layers, uint32_t seed, float step) {
  for (int layer = 0; layer < layers; ++layer) {
    const std::string name = "optimizer.layers." + std::to_string(layer) + ".k_proj.";
    const uint32_t own = seed + 10 * static_cast<uint32_t>(layer + 1);
    draft->random(name + "exp_avg", {8, 8}, own + 4);
    std::vector<float> squares(64);
    for (size_t i = 0; i < squares.size(); ++i) squares[i] = static_cast<float>(own + i) * 1e-6f;
    draft->floats(name + "exp_avg_sq", {8, 8}, squares);
    draft->floats(name + "step", {}, {step});
  }
}

void write_text(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

void write_raw(const fs::path& path, const std::string& header, size_t data_bytes) {
  write_text(path, bytes_of(std::vector<uint64_t>{header.size()}) + header +
                       std::string(data_bytes, '\0'));
}

std::vector<std::string> told(const Report& report) {
  std::vector<std::string> lines;
  for (const Finding& finding : report.findings) {
    lines.push_back(finding.rule + " " + finding.tensor + " " +
                    std::string(oracle::name_of(finding.severity)));
  }
  return lines;
}

Report scan_with(const fs::path& path, const fs::path& before, const fs::path& rules) {
  ScanOptions options;
  options.before = before;
  if (!rules.empty()) options.rules = read_rules_file(rules);
  return scan(path, options);
}

}  // namespace nanhunt::checkpoint::test
