// SPDX-License-Identifier: Apache-2.0
// What capture costs a training step: the bundled GPT on one rank and one thread, trained with
// capture off, at `stats` and at `full`, interleaved; and with a plan that no site matches
// (`links`: only the flow of storages through ops is followed).
//
//   capture_overhead [OPTIONS OF mini]    another shape than kShape
//
// Step time is the mean wall time of the steps after the first, so waits for the writer thread
// count. Factor: step time over that of `off` in the same round; median of kRounds. Beside it the
// factor of the training thread's own processor time, which other programs on the machine disturb
// less. Bytes hashed: elements of all records of a step times the size of their storage type. Bytes
// written: files of a step. Trace folders lie in the system's temporary folder and are removed.
#include <ATen/Parallel.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "cases/mini/launch.h"
#include "cases/mini/run_facts.h"
#include "cases/mini/text.h"
#include "cases/mini/trainer.h"
#include "trace/error.h"
#include "trace/trace_reader.h"

namespace nanhunt::mini {
namespace {

namespace fs = std::filesystem;

// About 200 ms a step on one core of a 2020s server.
const std::vector<std::string> kShape{"--layers=2", "--hidden=256",   "--heads=4",
                                      "--ffn=1024", "--sequence=256", "--global-batch=2",
                                      "--steps=5"};
constexpr std::array kModes{"off", "links", "stats", "full"};
constexpr int kRounds = 5;
constexpr double kHashBytesPerSecond = 5e9;  // of the aim for `stats`
constexpr double kFullAim = 1.5;

struct Clocks {
  double wall = 0, thread = 0;
};

Clocks now() {
  const auto seconds = [](clockid_t clock) {
    timespec time;
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  return {seconds(CLOCK_MONOTONIC), seconds(CLOCK_THREAD_CPUTIME_ID)};
}

// Per step, first step left out.
struct Cost {
  Clocks seconds;
  double bytes_hashed = 0, bytes_written = 0, records = 0;
  int64_t dropped = 0;  // over all steps
};

int64_t hashed_bytes(const trace::Record& record) {
  return std::accumulate(record.local_shape.begin(), record.local_shape.end(),
                         static_cast<int64_t>(trace::size_of(record.storage)), std::multiplies<>());
}

void add_trace(const fs::path& folder, Cost& cost) {
  const trace::TraceReader reader(folder);
  const double steps = static_cast<double>(reader.steps().size()) - 1;
  for (const int64_t number : reader.steps()) {
    const trace::Step step = reader.read_step(number);
    for (const auto& [reason, count] : step.dropped) cost.dropped += count;
    if (number == 0) continue;
    for (const auto& rank : step.progress)
      cost.bytes_written += static_cast<double>(rank.bytes) / steps;
    for (const auto& record : step.records) {
      cost.bytes_hashed += static_cast<double>(hashed_bytes(record)) / steps;
    }
    cost.records += static_cast<double>(step.records.size()) / steps;
  }
}

struct Benchmark {
  const Config& config;
  const std::string& text;
  const fs::path& folder;
  Mesh& mesh;

  Cost measure(const std::string& mode) const {
    std::optional<trace::CapturePlan> plan;
    if (mode != "off") {
      plan.emplace();
      plan->out = folder / mode;
      plan->level = mode == "full" ? trace::Level::kFull : trace::Level::kStats;
      if (mode == "links") plan->sites = {"no.such.site"};
    }
    Cost cost;
    cost.seconds = train_once(plan);
    if (!plan) return cost;
    if (mode != "links") add_trace(plan->out, cost);
    fs::remove_all(plan->out);
    return cost;
  }

 private:
  Clocks train_once(const std::optional<trace::CapturePlan>& plan) const {
    hooks::Recorder recorder(plan);
    hooks::RankTaps taps(recorder.add_rank(run_facts(config, mesh.rank)));
    Placements placements(config, mesh.tp_rank, mesh.dp_rank);
    const Fault none;
    RankContext context{config, none, taps, mesh, placements};
    Clocks first, last;
    train(context, text, nullptr, [&](const StepResult& result, const Model&) {
      last = now();
      if (result.step == 0) first = last;
    });
    const double steps = static_cast<double>(config.steps - 1);
    return {(last.wall - first.wall) / steps, (last.thread - first.thread) / steps};
  }
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

void print(const std::string& level, const std::vector<Cost>& off, const std::vector<Cost>& costs) {
  std::vector<double> wall, thread, step, busy;
  for (size_t i = 0; i < costs.size(); ++i) {
    step.push_back(costs[i].seconds.wall);
    busy.push_back(costs[i].seconds.thread);
    wall.push_back(costs[i].seconds.wall / off[i].seconds.wall);
    thread.push_back(costs[i].seconds.thread / off[i].seconds.thread);
  }
  const auto [lowest, highest] = std::minmax_element(wall.begin(), wall.end());
  const Cost& cost = costs.back();
  std::printf("%-6s %7.1f %7.3f %6.3f-%5.3f %9.1f %7.3f", level.c_str(), 1e3 * median(step),
              median(wall), *lowest, *highest, 1e3 * median(busy), median(thread));
  if (level == "off" || level == "links") {
    std::printf("\n");
    return;
  }
  std::vector<double> uncaptured;
  for (const Cost& each : off) uncaptured.push_back(each.seconds.wall);
  const double aim = level == "full"
                         ? kFullAim
                         : 1.05 + cost.bytes_hashed / kHashBytesPerSecond / median(uncaptured);
  std::printf(" %6.3f %8.0f %10.1f %10.1f %8lld\n", aim, cost.records, 1e-6 * cost.bytes_hashed,
              1e-6 * cost.bytes_written, static_cast<long long>(cost.dropped));
}

void run_rounds(const Benchmark& benchmark) {
  std::array<std::vector<Cost>, kModes.size()> costs;
  for (int round = 0; round < kRounds; ++round) {
    for (size_t mode = 0; mode < kModes.size(); ++mode) {
      costs[mode].push_back(benchmark.measure(kModes[mode]));
    }
  }
  std::printf("%-6s %7s %7s %12s %9s %7s %6s %8s %10s %10s %8s\n", "level", "ms", "factor", "range",
              "thread_ms", "factor", "aim", "records", "MB_hashed", "MB_written", "dropped");
  for (size_t mode = 0; mode < kModes.size(); ++mode) print(kModes[mode], costs[0], costs[mode]);
}

// Removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "nanhunt-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw trace::Error(trace::ErrorKind::kInternal, "cannot create " + name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

int run(std::vector<std::string> arguments) {
  if (arguments.empty()) arguments = kShape;
  arguments.push_back("--text=" NANHUNT_SOURCE_DIR "/cases/data/kjv.txt");
  const Config config = parse_config(arguments);
  if (config.world_size() != 1 || config.steps < 2) {
    throw trace::Error(trace::ErrorKind::kUsage, "takes one rank and at least 2 steps");
  }
  const std::string text = load_text(config.text);
  const TemporaryFolder folder;
  return launch(config, [&](World& world, int rank) {
    at::set_num_threads(1);
    Mesh mesh(world, config, rank);
    run_rounds({config, text, folder.path(), mesh});
  });
}

}  // namespace
}  // namespace nanhunt::mini

int main(int argc, char** argv) {
  try {
    return nanhunt::mini::run({argv + 1, argv + argc});
  } catch (const nanhunt::trace::Error& error) {
    std::fprintf(stderr, "capture_overhead: %s\n", error.what());
    return static_cast<int>(error.kind());
  }
}
