// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tensor_kind.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace nanhunt::checkpoint {
namespace {

using Components = std::vector<std::string>;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

template <size_t N>
bool holds_any(const std::string& text, const std::array<std::string_view, N>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

template <size_t N>
bool is_any(const std::string& text, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

template <class Test>
bool any_component(const Components& components, Test test) {
  return std::any_of(components.begin(), components.end(), test);
}

// Buffers have names of their own; what is called weight is none. So only the last component
// counts.
bool is_buffer(const std::string& last) {
  static constexpr std::array<std::string_view, 15> kWords = {
      "mask", "scale", "zero",  "freq",     "rope",   "rotary", "cached", "running",
      "amax", "_val",  "stats", "position", "coords", "index",  "buffer"};
  static constexpr std::array<std::string_view, 5> kNames = {"cos", "sin", "pe", "mean", "std"};
  return holds_any(last, kWords) || is_any(last, kNames);
}

bool is_norm(const Components& components) {
  const std::string& last = components.back();
  if (last.find("norm") != std::string::npos) return true;  // layer_norm_weight
  if (components.size() < 2) return false;
  const std::string& module = components[components.size() - 2];
  return module.find("norm") != std::string::npos || module == "ln" || module.starts_with("ln_") ||
         module.ends_with("_ln") || module.starts_with("ln1") || module.starts_with("ln2");
}

bool starts_at_zero(const std::string& component) {
  return component.starts_with("lora_b") || component.starts_with("lora_embedding_b") ||
         component.starts_with("zero_") || component.starts_with("adaln") ||
         component.ends_with("_zero");
}

}  // namespace

Components components_of(const std::string& name) {
  Components components(1);
  for (const char letter : name) {
    if (letter == '.') {
      components.emplace_back();
    } else {
      components.back() += letter;
    }
  }
  return components;
}

TensorKind kind_of(const TensorEntry& tensor) {
  const Components components = components_of(lower(tensor.name));
  const std::string& last = components.back();
  const auto named = [&](std::string_view name) {
    return any_component(components, [&](const std::string& part) { return part == name; });
  };
  if (last == "step" && tensor.elements == 1) return TensorKind::kStep;
  if (!tensor.type->floating) return TensorKind::kOther;
  if (named("exp_avg_sq") || named("max_exp_avg_sq")) return TensorKind::kSecondMoment;
  if (named("exp_avg") || named("momentum_buffer")) return TensorKind::kFirstMoment;
  if (last.find("bias") != std::string::npos) return TensorKind::kBias;
  if (is_buffer(last)) return TensorKind::kBuffer;
  if (is_norm(components)) return TensorKind::kNorm;
  if (std::count_if(tensor.shape.begin(), tensor.shape.end(),
                    [](int64_t size) { return size > 1; }) < 2) {
    return TensorKind::kOther;
  }
  return any_component(components, starts_at_zero) ? TensorKind::kZeroInit : TensorKind::kWeight;
}

bool is_parameter(TensorKind kind) {
  return kind == TensorKind::kWeight || kind == TensorKind::kZeroInit ||
         kind == TensorKind::kNorm || kind == TensorKind::kBias;
}

bool is_embedding_or_head(const std::string& name) {
  static constexpr std::array<std::string_view, 4> kModules = {"shared", "output", "wte",
                                                               "decoder"};
  static constexpr std::array<std::string_view, 2> kWords = {"embed", "head"};
  const Components components = components_of(lower(name));
  if (components.size() == 1) return holds_any(components.back(), kWords);
  const std::string& module = components[components.size() - 2];
  return is_any(module, kModules) || holds_any(module, kWords) || module == "output_layer";
}

}  // namespace nanhunt::checkpoint
