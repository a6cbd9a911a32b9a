// SPDX-License-Identifier: Apache-2.0
#include "repro/trace_curve.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "compare/loss_value.h"
#include "compare/numbers.h"
#include "trace/error.h"

namespace nanhunt::repro {
namespace {

using Name = std::pair<std::string, std::string>;  // site, role

constexpr const char* kUsualRole = "loss";

// The losses of one step: of one element, the first of those samples.
std::vector<oracle::Logical> losses_of(const trace::TraceReader& reader, int64_t step) {
  std::vector<oracle::Logical> losses = oracle::assemble(reader.read_step(step), reader.facts());
  std::erase_if(losses, [](const oracle::Logical& logical) {
    return logical.what.phase != trace::Phase::kLoss || logical.what.occurrence != 0 ||
           logical.count != 1;
  });
  return losses;
}

Name place_of(const oracle::Logical& logical) {
  return {logical.what.site, logical.what.role};
}

std::string text_of(const std::set<Name>& names) {
  std::vector<std::string> parts;
  for (const auto& [site, role] : names) parts.push_back(site + " " + role);
  return compare::join(parts, ", ");
}

Name choose(const std::vector<oracle::Logical>& losses, const std::string& site,
            const std::filesystem::path& trace) {
  std::set<Name> all, usual;
  for (const oracle::Logical& loss : losses) {
    if (!site.empty() && loss.what.site != site) continue;
    all.insert(place_of(loss));
    if (loss.what.role == kUsualRole) usual.insert(place_of(loss));
  }
  if (usual.size() == 1) return *usual.begin();
  if (all.size() == 1) return *all.begin();
  if (all.empty()) {
    std::set<Name> there;
    for (const oracle::Logical& loss : losses) there.insert(place_of(loss));
    throw trace::Error(trace::ErrorKind::kUsage,
                       trace.string() + ": no loss" + (site.empty() ? "" : " of site " + site) +
                           (there.empty() ? "" : "; there are: " + text_of(there)));
  }
  throw trace::Error(
      trace::ErrorKind::kUsage,
      trace.string() + ": several losses, name one by --loss-site SITE: " + text_of(all));
}

[[noreturn]] void fail(const std::filesystem::path& trace, int64_t step, const std::string& why) {
  throw trace::Error(trace::ErrorKind::kUnreadable,
                     trace.string() + ": step " + std::to_string(step) + ": " + why);
}

}  // namespace

Curve curve_of_trace(const trace::TraceReader& reader, const std::string& site) {
  Curve curve;
  curve.path = reader.folder();
  std::optional<Name> chosen;
  for (const int64_t step : reader.steps()) {
    const std::vector<oracle::Logical> losses = losses_of(reader, step);
    if (!chosen) chosen = choose(losses, site, reader.folder());
    const auto found = std::ranges::find(losses, *chosen, &place_of);
    if (found == losses.end()) fail(reader.folder(), step, "has no " + text_of({*chosen}));
    const auto value = compare::loss_value(*found);
    if (!value) fail(reader.folder(), step, text_of({*chosen}) + ": " + found->why_not);
    curve.steps.push_back(step);
    curve.losses.push_back(*value);
    curve.lines.push_back(static_cast<int>(curve.steps.size()));
  }
  if (curve.steps.empty()) {
    throw trace::Error(trace::ErrorKind::kUnreadable,
                       reader.folder().string() + ": no step was captured");
  }
  return curve;
}

void write_curve(const Curve& curve, const std::filesystem::path& path) {
  std::ofstream stream(path);
  for (size_t i = 0; i < curve.steps.size(); ++i) {
    const double loss = curve.losses[i];
    const std::string text = std::isfinite(loss) ? nlohmann::json(loss).dump()
                             : std::isnan(loss)  ? "NaN"
                             : loss > 0          ? "Infinity"
                                                 : "-Infinity";
    stream << "{\"step\": " << curve.steps[i] << ", \"loss\": " << text << "}\n";
  }
  stream.flush();
  if (!stream) throw trace::cannot_write(path);
}

}  // namespace nanhunt::repro
