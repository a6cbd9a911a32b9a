// SPDX-License-Identifier: Apache-2.0
// clip_recomputed: the clip factor is min(1, max_norm / (norm + 1e-6)), and each clipped gradient
// is the unscaled one times that factor, on every rank: ||clipped - f unscaled|| <= (u_store + 2u)
// ||clipped||, widened by the sketch's own error. A step may clip parts apart: norm, factor and
// gradients that have one number belong together. Source: clipping applied on one tensor-parallel
// rank only, bigscience-workshop tr11 chronicles, 2022-03-24.
#include <cmath>
#include <map>

#include "oracle/rules/rule_tools.h"
#include "oracle/rules/rules.h"

namespace nanhunt::oracle {
namespace {

using trace::Phase;

struct RankClip {
  const trace::Record* norm = nullptr;
  const trace::Record* factor = nullptr;
};

// Rank, and number of the norm.
using ClipPlace = std::pair<int32_t, int64_t>;

ClipPlace clip_place(const trace::Record& record) {
  return {record.where.rank, norm_number(record)};
}

std::map<ClipPlace, RankClip> clips(const trace::Step& step) {
  std::map<ClipPlace, RankClip> found;
  for (const auto& record : step.records) {
    if (record.what.role == "grad_norm") found[clip_place(record)].norm = &record;
    if (record.what.role == "clip_factor") found[clip_place(record)].factor = &record;
  }
  return found;
}

void check_factor(const RankClip& clip, std::vector<Finding>& findings) {
  if (clip.norm == nullptr || clip.factor == nullptr) return;
  const auto norm = scalar_of(*clip.norm), factor = scalar_of(*clip.factor);
  const auto max_norm = attribute(*clip.factor, "max_norm");
  if (!norm || !factor || !max_norm || !std::isfinite(*norm)) return;
  const double expected = std::min(1.0, *max_norm / (*norm + 1e-6));
  const double allowed = 8 * trace::unit_roundoff(trace::DType::kFloat32) * expected;
  if (std::abs(*factor - expected) <= allowed) return;
  Finding finding = finding_about(*clip.factor, "clip_recomputed", Severity::kProven);
  finding.decider = Decider::kRecomputation;
  finding.measured = *factor;
  finding.allowed = expected;
  finding.unit = "clip factor";
  finding.evidence = "norm " + short_number(*norm) + " and max_norm " + short_number(*max_norm) +
                     " give " + short_number(expected) + ", used " + short_number(*factor);
  findings.push_back(std::move(finding));
}

void check_gradient(const RuleInput& input, const trace::Record& before, const trace::Record& after,
                    double factor, std::map<trace::What, Finding>& by_tensor) {
  if (before.regions.empty() || before.regions.size() != after.regions.size()) return;
  trace::Sketch difference{};
  double squares = 0;
  for (size_t r = 0; r < after.regions.size(); ++r) {
    if (before.regions[r].masked() || after.regions[r].masked()) return;
    squares += after.regions[r].sum_squares;
    for (size_t b = 0; b < difference.size(); ++b) {
      difference[b] += after.regions[r].sketch[b] - factor * before.regions[r].sketch[b];
    }
  }
  const double u = trace::unit_roundoff(after.storage) + 2 * trace::unit_roundoff(after.compute);
  const double allowed =
      input.thresholds["sketch_widening"] * u * std::sqrt(squares) +
      std::sqrt(static_cast<double>(after.statistics.count)) * trace::min_subnormal(after.storage);
  const double measured = trace::sketch_norm(difference);
  if (measured <= allowed) return;
  const auto found = by_tensor.find(after.what);
  if (found != by_tensor.end()) return add_record(found->second, after);
  Finding finding = finding_about(after, "clip_recomputed", Severity::kProven);
  finding.decider = Decider::kRecomputation;
  finding.measured = measured;
  finding.allowed = allowed;
  finding.unit = "norm";
  finding.evidence =
      "differs from the unscaled gradient times the clip factor " + short_number(factor);
  by_tensor.emplace(after.what, std::move(finding));
}

std::vector<Finding> check(const RuleInput& input) {
  std::vector<Finding> findings;
  const auto all = clips(input.step);
  for (const auto& [place, clip] : all) check_factor(clip, findings);
  std::map<std::pair<int32_t, std::string>, const trace::Record*> unscaled;
  std::map<trace::What, Finding> by_tensor;
  for (const auto& record : input.step.records) {  // by rank, then sequence: unscaled comes first
    if (record.what.role != "grad") continue;
    const auto key = std::pair(record.where.rank, record.what.site);
    if (record.what.phase == Phase::kUnscaled) unscaled[key] = &record;
    if (record.what.phase != Phase::kClipped || !unscaled.contains(key)) continue;
    const auto clip = all.find(clip_place(*unscaled[key]));
    if (clip == all.end() || clip->second.factor == nullptr) continue;
    const auto factor = scalar_of(*clip->second.factor);
    if (factor && std::isfinite(*factor)) {
      check_gradient(input, *unscaled[key], record, *factor, by_tensor);
    }
  }
  for (auto& [what, finding] : by_tensor) findings.push_back(std::move(finding));
  return findings;
}

}  // namespace

Rule clip_recomputed() {
  return {"clip_recomputed", Severity::kProven, trace::Level::kStats,
          "clipped gradients are the unscaled ones times min(1, max_norm / norm)", check};
}

}  // namespace nanhunt::oracle
