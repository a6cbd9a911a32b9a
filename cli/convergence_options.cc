// SPDX-License-Identifier: Apache-2.0
#include "cli/convergence_options.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <optional>
#include <sstream>

#include "ablate/nearest.h"
#include "trace/error.h"

namespace nanhunt::cli {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;
using Words = std::vector<std::string>;

constexpr repro::Metric kLosses[] = {repro::Metric::kEarly, repro::Metric::kLate,
                                     repro::Metric::kWhole};

[[noreturn]] void refuse(const std::string& message) {
  throw trace::Error(trace::ErrorKind::kUsage, message);
}

repro::Metric metric_of(const std::string& name) {
  if (const auto metric = repro::metric_named(name)) return *metric;
  Words known;
  for (const auto metric : {repro::Metric::kEarly, repro::Metric::kLate, repro::Metric::kWhole,
                            repro::Metric::kQuality}) {
    known.emplace_back(repro::name_of(metric));
  }
  refuse("no metric '" + name + "'" + ablate::did_you_mean(name, known));
}

// Losses by name; all of them without one. Several may stand in a word, joined by commas.
std::vector<repro::Metric> losses_of(const Words& metrics) {
  if (metrics.empty()) return {std::begin(kLosses), std::end(kLosses)};
  std::vector<repro::Metric> losses;
  for (const std::string& word : metrics) {
    std::istringstream stream(word);
    for (std::string name; std::getline(stream, name, ',');) {
      losses.push_back(metric_of(name));
      if (losses.back() == repro::Metric::kQuality)
        refuse("--metrics names losses; a quality metric is named by --quality-name");
    }
  }
  return losses;
}

}  // namespace

std::vector<repro::Criterion> criteria_of(const Words& margins, const Words& metrics,
                                          bool quality) {
  std::optional<repro::Margin> of_losses;
  std::vector<repro::Criterion> named;
  for (const std::string& text : margins) {
    const size_t cut = text.find('=');
    const repro::Margin margin = repro::parse_margin(text.substr(cut + 1));
    if (cut != std::string::npos) {
      named.push_back({metric_of(text.substr(0, cut)), margin});
    } else if (of_losses) {
      refuse("two margins for all losses");
    } else {
      of_losses = margin;
    }
  }
  const auto is_there = [](const std::vector<repro::Criterion>& criteria, repro::Metric metric) {
    return std::ranges::find(criteria, metric, &repro::Criterion::metric) != criteria.end();
  };
  std::vector<repro::Criterion> criteria = named;
  for (const auto metric : losses_of(metrics)) {
    if (of_losses && !is_there(criteria, metric)) criteria.push_back({metric, *of_losses});
    if (!metrics.empty() && !is_there(criteria, metric))
      refuse("no margin for " + std::string(repro::name_of(metric)));
  }
  if (quality && !is_there(criteria, repro::Metric::kQuality))
    refuse("--quality-name needs --margin quality=NUMBER");
  if (criteria.empty()) refuse("`nanhunt repro` needs --margin, fixed before a curve is looked at");
  std::ranges::sort(criteria, {}, &repro::Criterion::metric);
  return criteria;
}

po::options_description criteria_options() {
  po::options_description options("criteria");
  options.add_options()(
      "margin", po::value<Words>()->composing(),
      "[METRIC=]NUMBER[sd]: absolute, or so many standard deviations of the A/A pairs")(
      "metrics", po::value<Words>()->composing(),
      "losses to judge, joined by commas: early_loss, late_loss, whole_loss (default: all)")(
      "alpha", po::value<double>()->default_value(0.05), "level of each one-sided test")(
      "early", po::value<double>()->default_value(0.2), "early part, a share of the steps")(
      "late", po::value<double>()->default_value(0.2), "late part, a share of the steps");
  return options;
}

po::options_description convergence_options() {
  po::options_description options("options");
  options.add_options()("pair", po::value<Words>()->composing(),
                        "A=B: loss curves of one seed, reference and candidate (.jsonl or .csv)")(
      "aa", po::value<Words>()->composing(),
      "A=A': curves of the reference against itself, perturbed by 1 ulp; separate runs")(
      "step-name", po::value<std::string>()->default_value("step"), "column of the step")(
      "loss-name", po::value<std::string>()->default_value("loss"), "column of the loss")(
      "quality-name", po::value<std::string>(), "column of a final quality metric")(
      "plan", po::value<int>(), "power of so many pairs, without a curve read")(
      "json", po::bool_switch(), "result as JSON")("bisect", po::bool_switch(),
                                                   "exit status for `git bisect run`");
  options.add(criteria_options());
  return options;
}

Words words_of(const Parsed& parsed, const std::string& name) {
  return parsed.has(name) ? parsed.values[name].as<Words>() : Words{};
}

std::pair<fs::path, fs::path> split_pair(const std::string& option, const std::string& text) {
  std::vector<std::pair<fs::path, fs::path>> all, files;
  for (size_t at = text.find('='); at != std::string::npos; at = text.find('=', at + 1)) {
    if (at == 0 || at + 1 == text.size()) continue;
    all.emplace_back(text.substr(0, at), text.substr(at + 1));
    const auto& [a, b] = all.back();
    if (fs::exists(a) && fs::exists(b)) files.push_back(all.back());
  }
  if (files.size() == 1) return files.front();
  if (all.size() == 1) return all.front();
  refuse("--" + option + " '" + text + "' " +
         (all.empty() ? "is not of the form A=B" : "can be cut at several places"));
}

repro::Criteria parts_of(const Parsed& parsed) {
  repro::Criteria criteria;
  criteria.fractions = {parsed.values["early"].as<double>(), parsed.values["late"].as<double>()};
  criteria.alpha = parsed.values["alpha"].as<double>();
  return criteria;
}

repro::Criteria read_criteria(const Parsed& parsed) {
  repro::Criteria criteria = parts_of(parsed);
  criteria.names = {parsed.text("step-name"), parsed.text("loss-name"),
                    parsed.has("quality-name") ? parsed.text("quality-name") : ""};
  const bool quality = parsed.has("quality-name");
  criteria.criteria = criteria_of(words_of(parsed, "margin"), words_of(parsed, "metrics"), quality);
  require_valid(criteria);
  return criteria;
}

}  // namespace nanhunt::cli
