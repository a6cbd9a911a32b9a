// SPDX-License-Identifier: Apache-2.0
#include "repro/upgrade.h"

#include <optional>
#include <set>

#include "capsule/capsule.h"
#include "repro/case_runs.h"
#include "repro/convergence_level.h"
#include "repro/levels.h"
#include "repro/state_report.h"
#include "repro/upgrade_parts.h"
#include "trace/error.h"

namespace nanhunt::repro {
namespace {

using ablate::Bench;
using ablate::Run;
using ablate::Scope;
using ablate::Settings;
using capsule::Level;

// Sets out what is asked of one part.
LevelReport part(Level level, const std::string& name, const std::string& observable,
                 const std::string& threshold) {
  LevelReport made;
  made.level = level;
  made.part = name;
  made.observable = observable;
  made.threshold = threshold;
  return made;
}

void add(std::vector<std::string>& evidence, const std::vector<std::string>& lines,
         const std::string& before) {
  for (const std::string& line : lines) evidence.push_back(before + line);
}

// How a run that goes on from a capsule came out.
struct Resumed {
  std::optional<Run> run;  // that ended well
  std::string refusal;     // else its words
};

class Upgrade {
 public:
  Upgrade(Bench& bench, const oracle::Thresholds& thresholds, int64_t at)
      : bench_(bench),
        thresholds_(thresholds),
        at_(at),
        scope_(full_scope(bench, at)),
        old_settings_(bench.the_case().reference),
        new_settings_(bench.the_case().failing) {}

  Report report() {
    const auto& subject = bench_.the_case().subject;
    report_.question = "old build A (" + ablate::describe(subject, old_settings_) +
                       ") against new build B (" + ablate::describe(subject, new_settings_) +
                       "): saved by A at step " + std::to_string(at_) + ", gone on from by B";
    report_.thresholds_sha256 = thresholds_.sha256();
    old_ = run(bench_, "old build", old_settings_, scope_);
    saved_ = {old_.capsules(), at_};
    if (auto refused = contradiction_report(report_, saved_)) return *refused;
    new_ = run(bench_, "new build", new_settings_, scope_);
    own_ = compare_builds({{old_.trace, old_.capsules()},
                           {new_.trace, new_.capsules()},
                           first_step(bench_.the_case()),
                           at_,
                           scope_.steps,
                           bench_.the_case().intended});
    goes_on();
    report_.levels.push_back(convergence_not_judged(kNeedsSeeds));
    add_own();
    parameters_alone();
    round_trip();
    return std::move(report_);
  }

 private:
  Resumed resume(const std::string& purpose, const Settings& settings, const At& from,
                 bool parameters_alone) {
    const Run made =
        bench_.runner().run(bench_.request(purpose, settings, resumed(from, parameters_alone)));
    if (made.ended_well()) return {made, ""};
    return {std::nullopt, made.complaint()};
  }

  Scope resumed(const At& from, bool parameters_alone) const {
    Scope scope = scope_;
    scope.capsules.resume = from.folder;
    scope.capsules.resume_step = from.step;
    scope.capsules.parameters_alone = parameters_alone;
    return scope;
  }

  void add_own() {
    for (LevelReport& level : own_.levels) report_.levels.push_back(std::move(level));
    own_.levels.clear();
  }

  // The report's own levels: B goes on from what A saved.
  void goes_on() {
    next_ = resume("new build, from the old one's state", new_settings_, saved_, false);
    LevelReport state, replay;
    if (!next_.run) {
      state = refused(Level::kState, next_.refusal);
      replay = replay_level(new_.trace, old_.trace, at_, scope_.steps - 1);
      replay.threshold = "bit for bit, or the envelope";
      replay.evidence = {"B does not go on from A's state"};
    } else {
      const At loaded{next_.run->capsules(), at_};
      start_ = compare_capsules(saved_, loaded);
      state = state_level(saved_, loaded);
      judge_state(state, *start_);
      replay = held(*next_.run, old_, resumed(saved_, false));
      // Steps that are not bit for bit leave another state, inside the envelope or not.
      if (replay.verdict == LevelVerdict::kEqual)
        judge_end(replay, *start_,
                  compare_capsules({saved_.folder, scope_.steps}, {loaded.folder, scope_.steps}));
    }
    all_ = replay.verdict;
    report_.levels.push_back(std::move(state));
    report_.levels.push_back(std::move(replay));
  }

  // What it means that one build does not load the state of the other.
  LevelVerdict not_loaded() const {
    return own_.names_differ || own_.shapes_differ ? LevelVerdict::kDifferent
                                                   : LevelVerdict::kUnknown;
  }

  // A state that the other build does not load.
  LevelReport refused(Level of, const std::string& words) {
    LevelReport level = part(of, "", "the state that " + saved_.text() + " holds, loaded by B",
                             "equal values; layout-bound state in the same layout only");
    level.verdict = not_loaded();
    level.evidence.push_back("B does not go on from it: " + words);
    if (level.verdict == LevelVerdict::kDifferent)
      level.evidence.push_back(own_.names_differ
                                   ? "B has other names than A: see part names"
                                   : "B has other shapes or types than A: see part placements");
    level.artifacts = {saved_.folder};
    level.commands = {"nanhunt scan " + saved_.folder.string()};
    return level;
  }

  // Bit for bit where the layouts are the same, and by the envelope where bits differ.
  LevelReport held(const Run& candidate, const Run& reference, const Scope& scope) {
    LevelReport level = replay_level(candidate.trace, reference.trace, at_, scope_.steps - 1);
    const trace::TraceReader b(candidate.trace), a(reference.trace);
    if (same_mesh(a, b)) {
      judge_bits(level, candidate.trace, reference.trace, thresholds_);
      if (level.verdict == LevelVerdict::kEqual) return level;
    }
    LevelReport inside = replay_level(candidate.trace, reference.trace, at_, scope_.steps - 1);
    judge_envelope(inside, bench_, candidate, reference, scope);
    inside.threshold = "bit for bit, else " + inside.threshold;
    add(inside.evidence, level.evidence, "bits: ");
    return inside;
  }

  void parameters_alone() {
    const std::string name = "parameters alone";
    LevelReport state = part(
        Level::kState, name,
        "parameters of A " + saved_.text() + ", after A and B went on from the parameters alone",
        "equal values; what is rebuilt is not judged");
    LevelReport replay =
        part(Level::kReplay, name, "every tensor of the steps that A and B make from there",
             "bit for bit, else the envelope");
    if (bench_.the_case().subject.resume_parameters.empty()) {
      state.evidence = replay.evidence = {bench_.the_case().subject.path.string() +
                                          " has no `resume_parameters =`"};
    } else {
      const Resumed a = resume("old build, from the parameters alone", old_settings_, saved_, true),
                    b = resume("new build, from the parameters alone", new_settings_, saved_, true);
      if (a.run && b.run) {
        judge_parameters(state, *a.run, *b.run);
        const LevelReport made = held(*b.run, *a.run, resumed(saved_, true));
        replay = made;
        replay.part = name;
        replay.evidence.push_back(carried_by(made.verdict));
      } else {
        const std::string side = a.run ? "B" : "A";
        state.evidence = replay.evidence = {
            side + " does not go on from the parameters alone: " + (a.run ? b.refusal : a.refusal)};
      }
    }
    report_.levels.push_back(std::move(state));
    report_.levels.push_back(std::move(replay));
  }

  void judge_parameters(LevelReport& level, const Run& a, const Run& b) {
    level.artifacts = {saved_.folder, a.capsules(), b.capsules()};
    level.verdict = LevelVerdict::kEqual;
    for (const auto& [side, made] : {std::pair("A", &a), std::pair("B", &b)}) {
      const At loaded{made->capsules(), at_};
      level.commands.push_back("nanhunt repro --state " + saved_.text() + " " + loaded.text());
      std::set<std::string> rebuilt;
      for (const auto& each : compare_capsules(saved_, loaded).differences) {
        if (each.kind != capsule::Kind::kParameters) {
          rebuilt.insert(std::string(capsule::facts_of(each.kind).name));
          continue;
        }
        level.verdict = LevelVerdict::kDifferent;
        level.evidence.push_back(each.tensor + " " + each.what + ", B being what " + side +
                                 " loaded");
      }
      std::string kinds;
      for (const std::string& kind : rebuilt) kinds += (kinds.empty() ? "" : ", ") + kind;
      level.evidence.push_back(std::string(side) + " went on with other values of: " +
                               (kinds.empty() ? "nothing" : kinds));
    }
  }

  std::string carried_by(LevelVerdict alone) const {
    const auto holds = [](LevelVerdict verdict) {
      return verdict == LevelVerdict::kEqual || verdict == LevelVerdict::kWithin;
    };
    if (alone == LevelVerdict::kUnknown || all_ == LevelVerdict::kUnknown)
      return "whether what the optimizer keeps carries a difference is unknown";
    if (all_ == LevelVerdict::kNotJudged)
      return "with all state B does not go on: nothing to hold this against";
    if (holds(all_) && holds(alone)) return "as with all state: no difference to carry";
    if (holds(alone))
      return "the difference is gone with the parameters alone: what the optimizer keeps (masters, "
             "moments, counters) carries it, not the step";
    return holds(all_) ? "different with the parameters alone only: the builds start what the "
                         "optimizer keeps otherwise"
                       : "different with the parameters alone, too: the step itself, not only what "
                         "the optimizer keeps";
  }

  void round_trip() {
    const std::string name = "round trip";
    LevelReport state =
        part(Level::kState, name, "what A saved, loaded and saved by B, loaded by A",
             "equal values after each hop");
    LevelReport replay =
        part(Level::kReplay, name, "every tensor of the steps that A makes from there",
             "bit for bit, rank by rank, against A's straight run");
    if (!next_.run) {
      state.evidence = replay.evidence = {"there is no first hop: B does not go on from A's state"};
    } else {
      go_back(state, replay);
      state.part = replay.part = name;
    }
    report_.levels.push_back(std::move(state));
    report_.levels.push_back(std::move(replay));
  }

  void go_back(LevelReport& state, LevelReport& replay) {
    const At there{next_.run->capsules(), at_};
    state.artifacts = {saved_.folder, there.folder};
    state.commands = {"nanhunt repro --state " + saved_.text() + " " + there.text()};
    state.verdict = LevelVerdict::kEqual;
    tell_hop(state, "A to B: ", *start_);
    const Resumed back =
        resume("old build, from what the new one saved", old_settings_, there, false);
    if (!back.run) {
      if (state.verdict == LevelVerdict::kEqual) state.verdict = not_loaded();
      state.evidence.push_back("B to A: A does not go on from it: " + back.refusal);
      replay.evidence = {"A does not go on from what B saved"};
      return;
    }
    const At home{back.run->capsules(), at_};
    state.artifacts.push_back(home.folder);
    state.commands.push_back("nanhunt repro --state " + home.text() + " " + there.text());
    tell_hop(state, "B to A: ", compare_capsules(home, there));
    replay = replay_level(back.run->trace, old_.trace, at_, scope_.steps - 1);
    judge_bits(replay, back.run->trace, old_.trace, thresholds_);
  }

  void tell_hop(LevelReport& level, const std::string& hop, const StateComparison& state) {
    LevelReport told;
    judge_state(told, state);
    add(level.evidence, told.evidence, hop);
    if (told.verdict == LevelVerdict::kDifferent) level.verdict = LevelVerdict::kDifferent;
  }

  Bench& bench_;
  const oracle::Thresholds& thresholds_;
  const int64_t at_;
  const Scope scope_;
  const Settings old_settings_, new_settings_;
  Report report_;
  Run old_, new_;
  At saved_;
  OwnParts own_;
  Resumed next_;
  std::optional<StateComparison> start_;
  LevelVerdict all_ = LevelVerdict::kNotJudged;  // replay with all state
};

}  // namespace

Report build_and_build(Bench& bench, const oracle::Thresholds& thresholds, int64_t at) {
  check_step(bench, at);
  return Upgrade(bench, thresholds, at).report();
}

}  // namespace nanhunt::repro
