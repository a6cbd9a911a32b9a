// SPDX-License-Identifier: Apache-2.0
// adam_bias_correction: an update that is not AdamW's with the bias corrections of its step is so,
// within the bound of update_recomputed, with others: of the step before or after (a counter read
// too early, or raised twice), of step 1 (a counter that a resume or a skipped step set back), of a
// counter raised once a microbatch, or with one or both left out. Small moments of an early step
// then move parameters by the ratio of the two. Needs values of masters, before and after, and
// moments.
#include <cmath>
#include <utility>

#include "compare/numbers.h"
#include "compare/signatures/pairs.h"
#include "oracle/adamw.h"
#include "oracle/mesh.h"

namespace nanhunt::compare {
namespace {

using oracle::BiasCorrection;

struct Other {
  std::string text;
  BiasCorrection correction;
};

std::vector<Other> others(const oracle::AdamW& optimizer, int32_t microbatches) {
  const double step = optimizer.step;
  const BiasCorrection right = oracle::bias_correction(optimizer, step);
  std::vector<Other> list;
  const auto add_step = [&](double other) {
    if (other < 1 || other == step) return;
    list.push_back({"bias corrections of step " + short_number(other),
                    oracle::bias_correction(optimizer, other)});
  };
  add_step(step - 1);
  add_step(step + 1);
  add_step(1);
  add_step(step * microbatches);
  list.push_back({"no bias correction", {1, 1}});
  list.push_back({"bias correction of the first moment alone", {right.first, 1}});
  list.push_back({"bias correction of the second moment alone", {1, right.second}});
  return list;
}

// How much larger the update is, as long as eps is small against the second moment.
double ratio_of(const BiasCorrection& a, const BiasCorrection& b) {
  return std::sqrt(a.second / b.second) * b.first / a.first;
}

std::optional<Signature> recognised(const SignatureInput& input, const trace::Record& record) {
  const auto place = std::make_pair(record.where.rank, record.what.site);
  const auto now = oracle::optimizer_states(*input.side.step);
  const auto before = oracle::optimizer_states(*input.previous);
  if (!now.contains(place) || !before.contains(place)) return std::nullopt;
  const auto& state = now.at(place);
  const auto optimizer = state.master == nullptr ? std::nullopt : oracle::adamw_of(*state.master);
  if (!optimizer) return std::nullopt;
  const auto values = oracle::update_values(*input.side.source->reader, state, before.at(place));
  if (!values) return std::nullopt;
  const BiasCorrection right = oracle::bias_correction(*optimizer, optimizer->step);
  if (oracle::worst_update(*values, *state.master, *optimizer, right) <= 1) return std::nullopt;
  const oracle::Mesh mesh(input.side.source->facts);
  for (const Other& other : others(*optimizer, mesh.size(trace::MeshAxis::kMicrobatch))) {
    if (oracle::worst_update(*values, *state.master, *optimizer, other.correction) > 1) continue;
    return Signature{"adam_bias_correction",
                     other.text + " at step " + short_number(optimizer->step) + "; the update is " +
                         short_number(ratio_of(other.correction, right)) + " of the right one"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Signature> adam_bias_correction(const SignatureInput& input) {
  if (input.draft.origin.finding.rule != "update_recomputed" || input.previous == nullptr ||
      input.side.source->reader == nullptr) {
    return std::nullopt;
  }
  return recognised(input, input.side.record(input.draft.record));
}

}  // namespace nanhunt::compare
