// SPDX-License-Identifier: Apache-2.0
// What the verdicts of a report's levels say about each other.
#include <algorithm>

#include "repro/report.h"
#include "trace/check.h"

namespace nanhunt::repro {
namespace {

using capsule::Level;

bool holds(LevelVerdict verdict) {
  return verdict == LevelVerdict::kEqual || verdict == LevelVerdict::kWithin;
}

bool is_different(LevelVerdict verdict) {
  return verdict == LevelVerdict::kDifferent;
}

struct Verdicts {
  LevelVerdict state, replay, convergence;
  bool partial_state;  // some kinds of it were not compared
};

std::string of_state(const Verdicts& is) {
  if (holds(is.state) && is.partial_state)
    return "what was not compared may differ: a difference in replay can come from there";
  if (holds(is.state))
    return "a difference in replay is made by the step, not by what it starts from";
  if (!is_different(is.state)) return "";
  if (holds(is.replay)) {
    return "the steps start from another state and do not read what differs: replay holds over "
           "these steps, and breaks with the first step that reads it";
  }
  return "the steps start from another state: replay and convergence are broken with it, and a "
         "difference there accuses no step";
}

std::string of_replay(const Verdicts& is) {
  if (is_different(is.replay)) {
    return is_different(is.state)
               ? "expected: the state differs"
               : "from one state the step gives another result: data, RNG, kernels or "
                 "configuration; states and curves drift apart from here on, and whether they are "
                 "still equivalent only level convergence says";
  }
  if (is.replay == LevelVerdict::kEqual)
    return "the same run, bit for bit: convergence cannot differ over these steps";
  return is.replay == LevelVerdict::kWithin
             ? "single steps agree as well as rounding allows; a bias inside the envelope shows at "
               "level convergence only"
             : "";
}

std::string of_different_curves(const Verdicts& is) {
  if (is_different(is.state)) return "expected: the state differs";
  if (is_different(is.replay)) return "expected: single steps differ; level replay tells where";
  if (is.replay == LevelVerdict::kEqual) {
    return "the replayed steps are equal bit for bit and the curves are not: what differs begins "
           "after those steps, or with other seeds";
  }
  if (is.replay == LevelVerdict::kWithin) {
    return "single steps agree and the curves do not: a bias too small for one step, which adds up "
           "over many; state and replay are not broken by it";
  }
  return "the set-ups do not train alike; a replay of one step tells where they part";
}

std::string of_convergence(const Verdicts& is) {
  if (is_different(is.convergence)) return of_different_curves(is);
  if (is.convergence == LevelVerdict::kUnknown) return "neither shown alike nor different";
  if (!holds(is.convergence)) return "";
  if (is_different(is.state) || is_different(is.replay)) {
    return "training ends alike within the margin although single steps differ: the difference "
           "does not move the loss of these seeds and steps, and is there all the same";
  }
  return "training ends alike within the margin; says nothing of state or of single steps";
}

}  // namespace

std::string implication(const Report& report, const LevelReport& level) {
  return level.part.empty() ? implication(report, level.level) : "";
}

std::string implication(const Report& report, Level level) {
  const auto find = [&](Level wanted) {
    return std::ranges::find_if(report.levels, [&](const LevelReport& each) {
      return each.level == wanted && each.part.empty();
    });
  };
  const auto verdict_of = [&](Level wanted) {
    const auto found = find(wanted);
    return found == report.levels.end() ? LevelVerdict::kNotJudged : found->verdict;
  };
  const auto state = find(Level::kState);
  const Verdicts verdicts{verdict_of(Level::kState), verdict_of(Level::kReplay),
                          verdict_of(Level::kConvergence),
                          state != report.levels.end() && !state->of.empty()};
  switch (level) {
    case Level::kState:
      return of_state(verdicts);
    case Level::kReplay:
      return of_replay(verdicts);
    case Level::kConvergence:
      return of_convergence(verdicts);
  }
  NANHUNT_CHECK(false && "unknown level");
}

}  // namespace nanhunt::repro
