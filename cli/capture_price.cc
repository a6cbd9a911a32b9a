// SPDX-License-Identifier: Apache-2.0
#include "cli/capture_price.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "trace/fingerprint.h"

namespace nanhunt::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;
namespace fs = std::filesystem;

constexpr Seconds kTiming{0.05};
constexpr int64_t kLeastBytes = 4 << 10, kMostBytes = 8 << 20;

int64_t bytes_of(const trace::Record& record) {
  int64_t elements = 1;
  for (const int64_t size : record.local_shape) elements *= size;
  return elements * static_cast<int64_t>(trace::size_of(record.storage));
}

// When the last file of the step got its contents.
fs::file_time_type end_of(const trace::TraceReader& reader, int64_t step) {
  fs::file_time_type latest = fs::file_time_type::min();
  const fs::path folder = trace::segment_path(reader.folder(), {step, 0, 0}).parent_path();
  for (const auto& entry : fs::directory_iterator(folder))
    latest = std::max(latest, entry.last_write_time());
  return latest;
}

double sharing_of(const trace::TraceReader& reader) {
  std::map<std::string, int> ranks_of_host;
  int most = 1;
  for (const trace::RunFacts& facts : reader.facts())
    most = std::max(most, ++ranks_of_host[facts.host]);
  return std::max(1.0,
                  static_cast<double>(most) / std::max(1U, std::thread::hardware_concurrency()));
}

std::string size_text(int64_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text;
}

// A figure, as text and as a number, and how it is known.
struct Figure {
  std::string name, key, text, how, from;
  double value = 0;
};

std::string number_text(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::vector<Figure> figures_of(const CapturePrice& price, const PricedCapture& capture) {
  std::vector<Figure> figures;
  const auto add = [&](Figure figure) { figures.push_back(std::move(figure)); };
  const auto add_bytes = [&](const std::string& name, const std::string& key, int64_t bytes,
                             const std::string& how, const std::string& from) {
    add({name, key, size_text(bytes), how, from, static_cast<double>(bytes)});
  };
  const std::string ranks = std::to_string(price.ranks) + " ranks";
  const std::string all = std::to_string(capture.steps) + " steps, " + ranks;
  const int64_t times = capture.steps * price.ranks;
  add({"records per step and rank", "records", std::to_string(price.records), "measured",
       "last step, mean of " + ranks, static_cast<double>(price.records)});
  add_bytes("bytes per step and rank, stats", "stats_bytes", price.stats_bytes, "measured",
            "files");
  add_bytes("bytes per step and rank, full", "full_bytes", price.full_bytes(), "estimated",
            "stats and the tensors behind the records");
  add_bytes("bytes in all, stats", "stats_bytes_in_all", price.stats_bytes * times, "estimated",
            all);
  add_bytes("bytes in all, full", "full_bytes_in_all", price.full_bytes() * times, "estimated",
            all);
  if (capture.ring > 0) {
    const std::string steps = std::to_string(capture.ring) + " steps and the one under way";
    add_bytes("memory of the ring per rank, stats", "ring_stats_bytes",
              price.stats_bytes * (capture.ring + 1), "estimated", steps);
    add_bytes("memory of the ring per rank, full", "ring_full_bytes",
              price.full_bytes() * (capture.ring + 1), "estimated", steps);
  }
  add({"fingerprint pass", "fingerprint_bytes_per_s", number_text("%.2f GB/s", price.rate / 1e9),
       "measured", "one thread here, tensors of the mean size", price.rate});
  if (price.step_seconds > 0)
    add({"step with capture at stats", "step_s", number_text("%.3f s", price.step_seconds),
         "measured", "last step", price.step_seconds});
  if (price.step_factor() > 0)
    add({"step factor, stats", "step_factor", number_text("%.2f", price.step_factor()), "estimated",
         "the pass over " + size_text(price.tensor_bytes) + " takes " +
             number_text("%.4f s", price.pass_seconds()) +
             " of the step; rows and files come on top",
         price.step_factor()});
  return figures;
}

}  // namespace

double fingerprint_rate(int64_t tensor_bytes) {
  const int64_t bytes = std::clamp(tensor_bytes, kLeastBytes, kMostBytes);
  const std::vector<float> values(static_cast<size_t>(bytes) / sizeof(float), 1.5F);
  const auto elements = static_cast<int64_t>(values.size());
  const trace::TensorView view =
      trace::contiguous_view(values.data(), trace::DType::kFloat32, {elements});
  const trace::Placement placement = trace::whole({"channel"}, {elements});
  trace::fingerprint(view, placement);  // brings the memory in
  int64_t passes = 0;
  const auto start = Clock::now();
  Seconds taken{0};
  do {
    trace::fingerprint(view, placement);
    ++passes;
    taken = Clock::now() - start;
  } while (taken < kTiming);
  return static_cast<double>(passes * elements) * sizeof(float) / taken.count();
}

double CapturePrice::pass_seconds() const {
  return rate > 0 ? static_cast<double>(tensor_bytes) / rate * sharing : 0;
}

double CapturePrice::step_factor() const {
  // The step was measured with the pass in it.
  const double without = step_seconds - pass_seconds();
  return without > 0 ? step_seconds / without : 0;
}

CapturePrice price_of(const trace::TraceReader& reader) {
  CapturePrice price;
  const std::vector<int64_t> steps = reader.steps();
  const trace::Step step = reader.read_step(steps.back());
  int64_t stats_bytes = 0, tensor_bytes = 0;
  for (const trace::RankProgress& rank : step.progress) {
    price.ranks += rank.present;
    stats_bytes += rank.bytes;
  }
  for (const trace::Record& record : step.records) tensor_bytes += bytes_of(record);
  const int64_t ranks = std::max(1, price.ranks);
  const auto records = std::ssize(step.records);
  price.records = records / ranks;
  price.stats_bytes = stats_bytes / ranks;
  price.tensor_bytes = tensor_bytes / ranks;
  price.sharing = sharing_of(reader);
  price.rate = fingerprint_rate(records > 0 ? tensor_bytes / records : 0);
  if (steps.size() > 1) {
    const auto before = end_of(reader, steps[steps.size() - 2]);
    price.step_seconds = Seconds(end_of(reader, steps.back()) - before).count();
  }
  return price;
}

std::string to_text(const CapturePrice& price, const PricedCapture& capture) {
  std::string text;
  for (const Figure& figure : figures_of(price, capture))
    text += figure.name + ": " + figure.text + " (" + figure.how + ": " + figure.from + ")\n";
  if (price.step_factor() == 0) text += "step factor, stats: cannot be told from this run\n";
  return text;
}

nlohmann::json to_json(const CapturePrice& price, const PricedCapture& capture) {
  nlohmann::json json = nlohmann::json::object();
  for (const Figure& figure : figures_of(price, capture))
    json[figure.key] = {{"value", figure.value}, {"how", figure.how}, {"from", figure.from}};
  return json;
}

}  // namespace nanhunt::cli
