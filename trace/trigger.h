// SPDX-License-Identifier: Apache-2.0
// What makes a ring of the last steps be written (capture_plan.h): the words of the plan's field
// `triggers` and of `nanhunt capture --trigger`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nanhunt::trace {

enum class TriggerKind {
  kNonFinite,  // "nonfinite": a record with NaN or Inf; -Inf in a mask means masked
  kLoss,       // "loss>2x": a one-element record of phase loss above 2 times the median before it
  kGradNorm,   // "gnorm>10x": the same for the norm of the gradients
  kExit,       // "exit": the process ends: close, exception, signal
};

struct Trigger {
  TriggerKind kind = TriggerKind::kNonFinite;
  double factor = 0;  // of kLoss and kGradNorm, above 1

  bool operator==(const Trigger&) const = default;
};

// "loss>2x". nullopt: no such word, or a factor that is no number above 1.
std::optional<Trigger> trigger_from_text(std::string_view text);
std::string text_of(const Trigger& trigger);
// The words, for messages.
inline constexpr std::string_view kTriggerWords = "nonfinite, loss>2x, gnorm>10x, exit";

// What a ring waits for when nothing is named.
std::vector<Trigger> default_triggers();

// Facts (run_facts.h) in the files of a run that was watched.
namespace ring_fact {
inline constexpr const char* kSteps = "ring.steps";           // N of the plan
inline constexpr const char* kStepsSeen = "ring.steps_seen";  // begun on this rank so far
inline constexpr const char* kTrigger = "ring.trigger";       // its word; "none": none fired
inline constexpr const char* kTriggerStep = "ring.trigger_step";
inline constexpr const char* kDetail = "ring.detail";        // where, measured and allowed
inline constexpr const char* kUnmatched = "ring.unmatched";  // triggers that met no record
}  // namespace ring_fact

}  // namespace nanhunt::trace
