// SPDX-License-Identifier: Apache-2.0
// The page of a verdict, of a run, a comparison or a scan.
#include "compare/verdict_words.h"
#include "report/body.h"
#include "report/error_plot.h"
#include "report/loss_plot.h"
#include "report/resources.h"
#include "report/sections/sections.h"

namespace nanhunt::report {
namespace {

using compare::Verdict;

void set_head(const Verdict& verdict, Data& data) {
  data.set("verdict", std::string(compare::name_of(verdict.kind)));
  data.set("tone", tone_of(compare::exit_status(verdict.kind)));
  data.set("headline", compare::headline(verdict));
  data.set("ticket", compare::ticket(verdict));
  set_unless_empty(data, "events", verdict.events);
}

}  // namespace

Body body_of(const HuntResult& result) {
  const Verdict& verdict = result.verdict;
  const auto error = error_plot(verdict), loss = loss_plot(verdict);
  Data data = object();
  set_head(verdict, data);
  data.set("findings", findings(verdict));
  data.set("has_error", Data(!error["points"].empty()));
  data.set("has_loss", Data(!loss["series"].empty()));
  set_unless_empty(data, "lost", non_finite_losses(verdict));
  data.set("coverage", coverage(verdict));
  data.set("configurations", configurations(verdict));
  data.set("thresholds", thresholds(verdict));
  data.set("ablation", ablation(result));
  data.set("commands", commands(verdict));
  data.set("candidate", verdict.candidate);
  if (!verdict.reference.empty()) data.set("reference", verdict.reference);
  return {verdict_html(), std::move(data), {{"error", error}, {"loss", loss}}};
}

}  // namespace nanhunt::report
