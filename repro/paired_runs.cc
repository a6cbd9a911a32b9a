// SPDX-License-Identifier: Apache-2.0
#include "repro/paired_runs.h"

#include <algorithm>
#include <atomic>

#include "ablate/parallel.h"
#include "repro/trace_curve.h"
#include "trace/error.h"

namespace nanhunt::repro {
namespace {

using ablate::Bench;
using ablate::Case;
using ablate::Run;
using ablate::RunRequest;
using ablate::Settings;

// Side B's are those of the failing side in both.
const Settings& side_a(const Case& the_case, Pairing pairing) {
  return pairing == Pairing::kLayouts ? the_case.reference : the_case.failing;
}

// One run that is wanted.
struct Wanted {
  std::string curve;  // name of its curve's file
  RunRequest request;
};

struct Done {
  std::string curve;
  Run run;
};

class Pairs {
 public:
  Pairs(Bench& bench, const PairedPlan& plan)
      : bench_(bench), plan_(plan), first_(first_seed(bench.the_case())) {}

  std::vector<Done> run() {
    std::vector<Wanted> first;
    for (int i = 0; i < plan_.seeds; ++i) first.push_back(a_of(i));
    for (int i = 0; i < plan_.same; ++i) {
      first.push_back(same_of(i, false));
      first.push_back(same_of(i, true));
    }
    if (plan_.pairing == Pairing::kLayouts)
      for (int i = 0; i < plan_.seeds; ++i) first.push_back(layout_of(i));
    std::vector<Done> done = run_all(first);
    if (plan_.pairing == Pairing::kLayouts) return done;
    std::vector<Wanted> resumed;  // which go on from what the first of them saved
    for (int i = 0; i < plan_.seeds; ++i) resumed.push_back(resumed_of(i, done[index_of(i)].run));
    for (Done& each : run_all(resumed)) done.push_back(std::move(each));
    return done;
  }

 private:
  static size_t index_of(int pair) { return static_cast<size_t>(pair); }

  Wanted a_of(int pair) const {
    const int64_t seed = first_ + pair;
    ablate::CapsuleRequest capsules;
    if (plan_.pairing == Pairing::kResume) capsules.every = plan_.at;
    return {"seed-" + std::to_string(seed) + "-a.jsonl",
            request("seed " + std::to_string(seed) + ", side A",
                    side_a(bench_.the_case(), plan_.pairing), seed, capsules)};
  }
  Wanted layout_of(int pair) const {
    const int64_t seed = first_ + pair;
    return {
        "seed-" + std::to_string(seed) + "-b.jsonl",
        request("seed " + std::to_string(seed) + ", side B", bench_.the_case().failing, seed, {})};
  }
  Wanted resumed_of(int pair, const Run& straight) const {
    const int64_t seed = first_ + pair;
    return {"seed-" + std::to_string(seed) + "-b.jsonl",
            request("seed " + std::to_string(seed) + ", resumed", bench_.the_case().failing, seed,
                    {0, straight.capsules(), plan_.at})};
  }
  Wanted same_of(int pair, bool moved) const {
    const int64_t seed = first_ + plan_.seeds + pair;
    Wanted wanted{"same-" + std::to_string(seed) + (moved ? "-ulp" : "") + ".jsonl",
                  request("A/A seed " + std::to_string(seed) + (moved ? ", one ulp off" : ""),
                          side_a(bench_.the_case(), plan_.pairing), seed, {})};
    if (moved)
      wanted.request.plan.perturbation = trace::Perturbation{static_cast<uint64_t>(seed), true, {}};
    return wanted;
  }

  RunRequest request(const std::string& purpose, Settings settings, int64_t seed,
                     const ablate::CapsuleRequest& capsules) const {
    const Case& the_case = bench_.the_case();
    ablate::set_value(the_case.subject, settings, the_case.subject.seed, std::to_string(seed));
    ablate::Scope scope;
    scope.steps = plan_.steps;
    scope.level = trace::Level::kStats;
    scope.capsules = capsules;
    if (plan_.pairing == Pairing::kResume)
      for (int64_t step = plan_.at; step < plan_.steps; ++step) scope.captured.push_back(step);
    RunRequest request = bench_.request(purpose, settings, scope);
    request.plan.phases = {std::string(trace::name_of(trace::Phase::kLoss))};
    if (!plan_.loss.empty()) request.plan.sites = {plan_.loss};
    // The case's time is that of its own steps.
    request.timeout_s *=
        std::max(1.0, static_cast<double>(plan_.steps) / static_cast<double>(the_case.steps));
    return request;
  }

  std::vector<Done> run_all(const std::vector<Wanted>& wanted) {
    std::vector<Done> done(wanted.size());
    ablate::for_each_parallel(wanted.size(), plan_.jobs, [&](size_t i) {
      const std::string& purpose = wanted[i].request.purpose;
      done[i] = {wanted[i].curve, bench_.runner().run(wanted[i].request)};
      const Run& run = done[i].run;
      if (!run.ended_well())
        throw trace::Error(trace::ErrorKind::kUnreadable, purpose + ": " + run.complaint());
      if (const std::string failure = run.capture_failure(run.trace); !failure.empty())
        throw trace::Error(trace::ErrorKind::kUnreadable, purpose + ": " + failure);
      bench_.runner().say({purpose, ++ended_, 2 * plan_.seeds + 2 * plan_.same});
    });
    return done;
  }

  Bench& bench_;
  const PairedPlan& plan_;
  const int64_t first_;
  std::atomic<int> ended_{0};
};

// The curve as the file holds it: what is judged can be judged again from the file.
Curve keep_curve(const std::filesystem::path& folder, const Done& done, const PairedPlan& plan) {
  const auto file = folder / done.curve;
  write_curve(curve_of_trace(trace::TraceReader(done.run.trace), plan.loss), file);
  return read_curve(file, plan.criteria.names);
}

// One folder for the same runs, another for others.
std::filesystem::path folder_of(Bench& bench, const std::vector<Done>& done) {
  std::string keys;
  for (const Done& each : done) keys += each.run.key + "\n";
  return bench.runner().work() / ("curves-" + ablate::hash_of(keys).substr(0, 8));
}

}  // namespace

PairedCurves run_pairs(Bench& bench, const PairedPlan& plan) {
  const std::vector<Done> done = Pairs(bench, plan).run();
  PairedCurves curves;
  curves.folder = folder_of(bench, done);
  std::filesystem::create_directories(curves.folder);
  std::vector<Curve> kept;
  for (const Done& each : done) kept.push_back(keep_curve(curves.folder, each, plan));
  // In the order in which Pairs wants them: A, the A/A runs by twos, B.
  const auto seeds = static_cast<size_t>(plan.seeds), same = static_cast<size_t>(plan.same);
  for (size_t i = 0; i < seeds; ++i) curves.pairs.push_back({kept[i], kept[seeds + 2 * same + i]});
  for (size_t i = 0; i < same; ++i)
    curves.same.push_back({kept[seeds + 2 * i], kept[seeds + 2 * i + 1]});
  return curves;
}

}  // namespace nanhunt::repro
