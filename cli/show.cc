// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <boost/program_options.hpp>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/options.h"
#include "trace/error.h"
#include "trace/rules_file.h"
#include "trace/trace_reader.h"

namespace nanhunt::cli {
namespace {

namespace po = boost::program_options;
using nlohmann::json;

po::options_description options_of_show() {
  po::options_description options("options");
  options.add_options()("step", po::value<int64_t>(), "only this step")(
      "rank", po::value<int32_t>(), "only this rank")("phase", po::value<std::string>(),
                                                      "only this phase")(
      "values", po::bool_switch(), "first values of records captured in full")(
      "count", po::value<int64_t>()->default_value(8), "how many values")("json", po::bool_switch(),
                                                                          "one JSON object a line");
  return options;
}

std::string joined(const std::vector<int64_t>& numbers, const char* between) {
  std::string text;
  for (const int64_t number : numbers) {
    text += (text.empty() ? "" : between) + std::to_string(number);
  }
  return text.empty() ? "scalar" : text;
}

// "tp:shard dp:batch", "unknown", or "whole"
std::string placement_text(const trace::Record& record) {
  if (!record.placement || trace::is_unknown(*record.placement)) return "unknown";
  std::string text;
  for (const trace::AxisPlacement& axis : record.placement->mesh) {
    text += (text.empty() ? "" : " ") + std::string(trace::name_of(axis.axis)) + ":" +
            std::string(trace::name_of(axis.kind));
  }
  return text.empty() ? "whole" : text;
}

bool wanted(const Parsed& parsed, const std::string& pattern, const trace::Record& record) {
  if (parsed.has("rank") && record.where.rank != parsed.values["rank"].as<int32_t>()) return false;
  if (parsed.has("phase") && trace::name_of(record.what.phase) != parsed.text("phase"))
    return false;
  return trace::match_site(pattern, record.what.site, nullptr);
}

void print_header() {
  std::printf("%4s %4s %6s %3s %-15s %-48s %-12s %-9s %-14s %7s %7s %11s %11s  %s\n", "step",
              "rank", "seq", "mb", "phase", "site", "role", "dtype", "shape", "nan", "inf",
              "absmax", "rms", "placement");
}

void print_row(const trace::Record& record) {
  const trace::Statistics& s = record.statistics;
  std::printf("%4ld %4d %6ld %3d %-15s %-48s %-12s %-9s %-14s %7lu %7lu %11.4g %11.4g  %s\n",
              static_cast<long>(record.what.step), record.where.rank,
              static_cast<long>(record.where.sequence), record.where.microbatch,
              std::string(trace::name_of(record.what.phase)).c_str(), record.what.site.c_str(),
              record.what.role.c_str(), std::string(trace::name_of(record.storage)).c_str(),
              joined(record.local_shape, "x").c_str(), static_cast<unsigned long>(s.nan),
              static_cast<unsigned long>(s.pos_inf + s.neg_inf), s.absmax(), s.rms(),
              placement_text(record).c_str());
}

std::vector<double> first_values(const trace::TraceReader& reader, const trace::Record& record,
                                 int64_t count) {
  int64_t total = 1;
  for (const int64_t extent : record.local_shape) total *= extent;
  count = std::min(count, total);
  std::vector<std::byte> bytes(static_cast<size_t>(count) * trace::size_of(record.storage));
  reader.read_values(record, 0, count, bytes);
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(
        trace::element_as_double(bytes.data(), record.storage, static_cast<size_t>(i)));
  }
  return values;
}

// NaN and Inf are strings in our JSON.
json number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Inf" : "-Inf";
  return value;
}

json links_json(const trace::Record& record) {
  json links = json::array();
  for (const trace::Link& link : record.links) {
    links.push_back({{"sequence", link.sequence}, {"grade", trace::name_of(link.grade)}});
  }
  return links;
}

json row_json(const trace::Record& record) {
  const trace::Statistics& s = record.statistics;
  return {{"step", record.what.step},
          {"rank", record.where.rank},
          {"sequence", record.where.sequence},
          {"microbatch", record.where.microbatch},
          {"phase", trace::name_of(record.what.phase)},
          {"site", record.what.site},
          {"role", record.what.role},
          {"occurrence", record.what.occurrence},
          {"lane", trace::name_of(record.where.lane)},
          {"op", record.op},
          {"attributes", record.attributes},
          {"compute", trace::name_of(record.compute)},
          {"rounding", number(record.rounding)},
          {"links", links_json(record)},
          {"dtype", trace::name_of(record.storage)},
          {"shape", record.local_shape},
          {"nan", s.nan},
          {"inf", s.pos_inf + s.neg_inf},
          {"absmax", number(s.absmax())},
          {"rms", number(s.rms())},
          {"placement", placement_text(record)},
          {"has_values", record.has_values}};
}

struct Printer {
  const Parsed& parsed;
  const trace::TraceReader& reader;

  void print(const trace::Record& record) const {
    const bool values = parsed.flag("values") && record.has_values;
    const int64_t count = parsed.values["count"].as<int64_t>();
    if (parsed.flag("json")) {
      json row = row_json(record);
      if (values) {
        for (const double value : first_values(reader, record, count)) {
          row["values"].push_back(number(value));
        }
      }
      std::printf("%s\n", row.dump().c_str());
      return;
    }
    print_row(record);
    if (!values) return;
    std::printf("       ");
    for (const double value : first_values(reader, record, count)) std::printf(" %.6g", value);
    std::printf("\n");
  }
};

}  // namespace

int show_command(const std::vector<std::string>& arguments) {
  const Parsed parsed = parse_options("show", arguments, options_of_show(), {"TRACE", "PATTERN?"});
  if (parsed.wants_help) return 0;
  const trace::TraceReader reader(parsed.text("TRACE"));
  const std::string pattern = parsed.has("PATTERN") ? parsed.text("PATTERN") : "**";
  const Printer printer{parsed, reader};
  if (!parsed.flag("json")) print_header();
  int64_t shown = 0;
  for (const int64_t number : reader.steps()) {
    if (parsed.has("step") && number != parsed.values["step"].as<int64_t>()) continue;
    const trace::Step step = reader.read_step(number);
    for (const trace::Record& record : step.records) {
      if (!wanted(parsed, pattern, record)) continue;
      printer.print(record);
      ++shown;
    }
    for (const trace::RankProgress& rank : step.progress) {
      const std::string cut = trace::describe_progress(rank);
      if (!cut.empty())
        std::fprintf(stderr, "nanhunt: step %ld: %s\n", static_cast<long>(number), cut.c_str());
    }
  }
  if (shown == 0) {
    throw trace::Error(trace::ErrorKind::kUsage, "nothing in the trace fits '" + pattern + "'");
  }
  return 0;
}

}  // namespace nanhunt::cli
