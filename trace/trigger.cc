// SPDX-License-Identifier: Apache-2.0
#include "trace/trigger.h"

#include <array>
#include <charconv>
#include <cmath>

namespace nanhunt::trace {
namespace {

struct Word {
  std::string_view text;  // up to and with the ">" of those that take a factor
  TriggerKind kind;
};
constexpr std::array<Word, 4> kWords{{{"nonfinite", TriggerKind::kNonFinite},
                                      {"loss>", TriggerKind::kLoss},
                                      {"gnorm>", TriggerKind::kGradNorm},
                                      {"exit", TriggerKind::kExit}}};

bool takes_factor(TriggerKind kind) {
  return kind == TriggerKind::kLoss || kind == TriggerKind::kGradNorm;
}

std::optional<double> factor_from(std::string_view text) {
  if (!text.ends_with('x')) return std::nullopt;
  text.remove_suffix(1);
  double factor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(factor) || factor <= 1) return std::nullopt;
  return factor;
}

}  // namespace

std::optional<Trigger> trigger_from_text(std::string_view text) {
  for (const Word& word : kWords) {
    if (!takes_factor(word.kind)) {
      if (text == word.text) return Trigger{word.kind, 0};
      continue;
    }
    if (!text.starts_with(word.text)) continue;
    if (const auto factor = factor_from(text.substr(word.text.size())))
      return Trigger{word.kind, *factor};
  }
  return std::nullopt;
}

std::string text_of(const Trigger& trigger) {
  std::string text;
  for (const Word& word : kWords)
    if (word.kind == trigger.kind) text = word.text;
  if (!takes_factor(trigger.kind)) return text;
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), trigger.factor).ptr;
  return text + std::string(digits.data(), end) + "x";
}

std::vector<Trigger> default_triggers() {
  return {{TriggerKind::kNonFinite, 0}, {TriggerKind::kExit, 0}};
}

}  // namespace nanhunt::trace
