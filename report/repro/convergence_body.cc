// SPDX-License-Identifier: Apache-2.0
// The page of a convergence result.
#include "compare/numbers.h"
#include "report/body.h"
#include "report/repro/curve_plot.h"
#include "report/repro/interval_plot.h"
#include "report/repro/sections.h"
#include "report/resources.h"

namespace nanhunt::report {
namespace {

using repro::Convergence;

std::string mean_words(const repro::DrawnCurves& curves) {
  const auto all = static_cast<int64_t>(curves.pairs.size());
  const std::string crosses = " Crosses at the top: NaN or Inf begins.";
  if (curves.mean_of == 0) return "Every pair has NaN or Inf: there is no mean to draw." + crosses;
  const std::string means = "Lines: means over " + of(curves.mean_of, all) + " pairs";
  return curves.mean_of == all
             ? means + "."
             : means + ", those without NaN or Inf; the others on their own." + crosses;
}

std::string pairs_words(const Convergence& result) {
  const size_t all = result.curves.pairs.size(), drawn = pairs_to_draw(result).size();
  if (drawn == all) return "";
  return std::to_string(drawn) + " of " + std::to_string(all) +
         " pairs are drawn: those with NaN or Inf, then those that differ most.";
}

Data curves(const Convergence& result) {
  Data data = object();
  data.set("mean_words", mean_words(result.curves));
  data.set("pairs_words", pairs_words(result));
  return data;
}

}  // namespace

Data convergence_data(const Convergence& result) {
  Data data = object();
  data.set("headline", repro::headline(result));
  data.set("runs", std::to_string(result.pairs.size()) + " pairs, A/A pairs " +
                       std::to_string(result.same_pairs) + ", logged steps " +
                       std::to_string(result.steps) + ": " + std::to_string(result.first_step) +
                       " to " + std::to_string(result.last_step));
  data.set("level", compare::short_number(100 * (1 - 2 * result.criteria.alpha)));
  set_unless_empty(data, "notes", result.notes);
  data.set("metrics", metrics(result));
  if (!result.curves.pairs.empty()) data.set("curves", curves(result));
  data.set("seeds", seeds(result));
  data.set("margins", margins(result));
  data.set("hash", result.thresholds_sha256);
  if (!result.command.empty()) data.set("command", result.command);
  return data;
}

nlohmann::json convergence_plots(const Convergence& result) {
  nlohmann::json plots = {{"interval", interval_plots(result)}};
  if (!result.curves.pairs.empty()) {
    plots["curves"] = loss_curves(result);
    plots["differences"] = difference_curves(result);
  }
  return plots;
}

Body body_of(const Convergence& result) {
  Data data = object();
  data.set("verdict", std::string(repro::name_of(result.decision)));
  data.set("tone", tone_of(repro::exit_status(result.decision)));
  data.set("headline", repro::headline(result));
  data.set("ticket", repro::ticket(result));
  data.set("convergence", convergence_data(result));
  return {convergence_html(), std::move(data), convergence_plots(result)};
}

}  // namespace nanhunt::report
