// SPDX-License-Identifier: Apache-2.0
#include "tests/report/example_results.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "ablate/trials_json.h"

namespace nanhunt::report::test {
namespace {

namespace fs = std::filesystem;
using compare::Measurement;
using trace::Phase;

Measurement measured(const trace::What& what, double value) {
  return {what, "reference_envelope", "relative norm", value > 0.01 ? "out" : "within", value,
          0.01};
}

// A comparison of three steps on two ranks with a reference of one.
compare::Verdict compared(double last_loss) {
  compare::Verdict verdict;
  verdict.kind = compare::VerdictKind::kClean;
  verdict.coverage.sites_fired = verdict.coverage.sites_expected = 24;
  verdict.coverage.steps = {0, 1, 2};
  verdict.coverage.ranks_present = verdict.coverage.ranks_expected = 2;
  verdict.differences = {{"mesh tp", "2", "1"}};
  verdict.thresholds_sha256 = std::string(64, 'a');
  verdict.thresholds = {{"family_rate", 0.001}};
  verdict.candidate = "run/failing";
  verdict.reference = "run/reference";
  for (int layer = 0; layer < 4; ++layer) {
    const std::string site = "decoder.layers." + std::to_string(layer) + ".mlp";
    verdict.measurements.push_back(
        measured({0, site, Phase::kForward, "output", 0}, 0.001 * (layer + 1)));
  }
  for (int64_t step = 0; step < 3; ++step) {
    verdict.losses.push_back({step, "loss", "loss", step == 2 ? last_loss : 5, 5.1});
  }
  return verdict;
}

compare::Origin origin_at(const trace::What& what, const std::string& rule) {
  compare::Origin origin;
  origin.finding.rule = rule;
  origin.finding.what = what;
  origin.finding.ranks = {0, 1};
  origin.finding.records = {{0, 7}, {1, 7}};
  origin.finding.evidence = "2 copies over tp have 2 different contents";
  origin.finding.unit = "distinct copies";
  origin.blame = compare::Blame::kCandidate;
  origin.hosts = {"ranks 0 1: node0 cpu1"};
  return origin;
}

}  // namespace

std::string hostile(const std::string& name) {
  return name + "</script><script>document.title='out'</script><img src=x onerror=\"out()\">'&<!--";
}

compare::Verdict clean_verdict() {
  return compared(5.1);
}

compare::Verdict nan_verdict() {
  compare::Verdict verdict = compared(NAN);
  verdict.kind = compare::VerdictKind::kNonFinite;
  const trace::What what{2, "fc2", Phase::kForward, "output", 0};
  verdict.origins = {origin_at(what, "non_finite")};
  verdict.origins.front().finding.decider = oracle::Decider::kItself;
  verdict.origins.front().finding.measured = INFINITY;
  verdict.origins.front().finding.allowed = NAN;
  verdict.measurements.push_back({what, "non_finite", "elements", "out", INFINITY, NAN});
  return verdict;
}

compare::Verdict divergence_verdict() {
  compare::Verdict verdict = compared(5.2);
  verdict.kind = compare::VerdictKind::kDivergence;
  const trace::What what{0, "norm.weight", Phase::kUnscaled, "grad", 0};
  compare::Origin origin = origin_at(what, "replicas_equal");
  origin.finding.group = "tp";
  origin.finding.measured = 2;
  origin.finding.allowed = 1;
  origin.also = {origin.finding};
  origin.also.front().rule = "reference_envelope";
  origin.signature = "missing_reduction";
  verdict.origins = {origin};
  verdict.measurements.push_back({what, "replicas_equal", "distinct copies", "out", 2, 1});
  verdict.measurements.push_back(measured(what, 0.5));
  verdict.next_command = "nanhunt show run/failing norm.weight --values";
  return verdict;
}

HuntResult run_result() {
  HuntResult result;
  result.verdict = divergence_verdict();
  compare::Cause cause;
  cause.statement = "parallel.tp and layout.sp explain it";
  cause.toggles = {"parallel.tp", "layout.sp"};
  cause.confirmed = true;
  cause.undecided = {"overlap.grad_reduce: no end after 30 s"};
  result.verdict.cause = cause;
  using ablate::TrialResult;
  result.trials = {{"off parallel.tp", {TrialResult::kPass, ""}, 3.25},
                   {"off fusion.adamw", {TrialResult::kFail, ""}, 3.5},
                   {"on layout.sp", {TrialResult::kUnresolved, "no effect here"}, 1.5}};
  return result;
}

HuntResult hostile_result() {
  HuntResult result = run_result();
  compare::Verdict& verdict = result.verdict;
  verdict.reason = hostile("reason");
  for (auto& origin : verdict.origins) {
    origin.finding.what.site = hostile("site");
    origin.finding.what.role = hostile("role");
    origin.finding.rule = hostile("rule");
    origin.finding.unit = hostile("unit");
    origin.finding.evidence = hostile("evidence");
    origin.signature = hostile("signature {{ticket}} {{{script}}}");
    origin.hosts = {hostile("host")};
  }
  for (auto& each : verdict.measurements) {
    each.what.site = hostile("place");
    each.rule = hostile("law");
  }
  for (auto& loss : verdict.losses) loss.site = hostile("loss");
  verdict.coverage.missing = {hostile("missing")};
  verdict.differences = {{hostile("key"), hostile("candidate"), hostile("reference")}};
  verdict.events = {hostile("event")};
  verdict.candidate = hostile("trace");
  verdict.next_command = hostile("nanhunt show");
  verdict.cause->statement = hostile("cause");
  result.trials.front().name = hostile("trial");
  result.trials.front().verdict.reason = hostile("because");
  return result;
}

fs::path Folder::write(const std::string& name, const std::string& text) const {
  std::ofstream(scratch_ / name, std::ios::binary) << text;
  return scratch_ / name;
}

HuntResult through_files(const HuntResult& result) {
  const Folder folder;
  ablate::Hunt hunt;
  hunt.verdict = result.verdict;
  hunt.trials = result.trials;
  folder.write("verdict.json", ablate::to_json(hunt).dump(2));
  return std::get<HuntResult>(read_result(folder.path()).content);
}

size_t count(const std::string& text, const std::string& part) {
  size_t times = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

}  // namespace nanhunt::report::test
