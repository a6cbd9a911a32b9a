// SPDX-License-Identifier: Apache-2.0
// How far distances estimated from sketches are from the true ones (docs/detection.md).
//
//   sketch_error [MINI]     the built program of the bundled subject
//
// Captures the bundled subject at level full in several layouts and precisions. A pair is a logical
// tensor in two of these runs, or one in a run and again with a fault planted in the first rank's
// record, rounded to its type and fingerprinted anew. Its distance is estimated as
// oracle/deviation.cc does at level stats, from the assembled sketches, and taken in FP64 from the
// assembled values. Pairs that are equal have no ratio. Kinds of their own are tensors of one block
// of 64 elements, each in a sum of its own, and differences of few elements.
//
// Theory: a sum is of many differences with independent signs, so nearly normal, and the square of
// the estimate is the true square times chi-square with 64 degrees of freedom over 64. One element
// is exact. Few nearly always are, but two of equal size cancel once in 128 times: when they share
// a sum and their signs there differ. The variance of the square's ratio is 2/64 (1 - 1/m), m =
// (sum d^2)^2 / sum d^4: the number of elements that differ, where they differ equally.
#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "bench/stored_values.h"
#include "oracle/logical.h"
#include "oracle/mesh.h"
#include "trace/error.h"

namespace nanhunt {
namespace {

namespace fs = std::filesystem;
using bench::Values;

constexpr int64_t kBlock = 64;  // elements that fall into 64 different sums
constexpr double kFew = 16;     // differences
constexpr int64_t kRowsAtATime = 4096;
constexpr const char* kShape = " --steps=1 --layers=2 --sequence=64 --global-batch=4";

struct Layout {
  std::string name, options;
};

const std::vector<Layout> kLayouts = {
    {"tp1", ""},       {"tp2", "--tp=2"},
    {"tp4", "--tp=4"}, {"tp2-sp", "--tp=2 --sp=on"},
    {"dp2", "--dp=2"}, {"tp2-dp2-mb2", "--tp=2 --dp=2 --microbatches=2"}};

struct Capture {
  explicit Capture(const fs::path& folder)
      : reader(folder),
        step(reader.read_step(0)),
        logicals(oracle::assemble(step, reader.facts())) {}

  trace::TraceReader reader;
  trace::Step step;
  std::vector<oracle::Logical> logicals;
};

fs::path capture(const std::string& program, const fs::path& folder, const std::string& options) {
  const std::string command = "NANHUNT_CAPTURE='{\"level\": \"full\", \"out\": \"" +
                              folder.string() + "\"}' " + program + kShape + " " + options +
                              " > /dev/null";
  if (std::system(command.c_str()) != 0)
    throw trace::Error(trace::ErrorKind::kInternal, "failed: " + command);
  return folder;
}

// What the candidate's records are of the logical tensor.
std::string kind_of(const Capture& run, const oracle::Logical& logical) {
  if (logical.count <= kBlock) return "at most 64 elements";
  const auto& record = run.step.records[static_cast<size_t>(logical.pieces.front().record)];
  const trace::Placement& placement = *record.placement;
  const oracle::Mesh mesh(run.reader.facts());
  if (logical.partial) {
    const auto axes = axes_of_kind(placement, trace::PlacementKind::kPartial, mesh);
    return "partial sums over " + (axes.empty() ? "microbatches" : oracle::names_of(axes));
  }
  const trace::Region& region = placement.regions.front();
  const bool batch =
      !axes_of_kind(placement, trace::PlacementKind::kBatch, mesh).empty() ||
      (region.extent.front() < logical.shape.front() && placement.axes.front() == "sample");
  std::string cut;
  for (size_t d = 0; d < region.extent.size(); ++d) {
    if (placement.axes[d] == "sample" || region.extent[d] == logical.shape[d]) continue;
    cut = placement.axes[d];
  }
  if (cut.empty()) return batch ? "whole samples on each rank" : "whole on each rank";
  return std::string(placement.axes.front() == "sample" ? "activation" : "parameter") + " cut by " +
         cut;
}

double estimated(const oracle::Logical& a, const oracle::Logical& b) {
  return trace::sketch_norm(trace::subtract(a.print.sketch, b.print.sketch));
}

struct Distance {
  double squares = 0, fourths = 0;

  void add(double difference) {
    const double square = difference * difference;
    squares += square;
    fourths += square * square;
  }
  double norm() const { return std::sqrt(squares); }
  double elements() const { return fourths > 0 ? squares * squares / fourths : 0; }
};

Distance distance(const Capture& mine, const oracle::Logical& a, const Capture& other,
                  const oracle::Logical& b) {
  const int64_t length = a.shape.empty() ? 1 : std::max<int64_t>(1, a.shape.back());
  const int64_t rows = static_cast<int64_t>(a.count) / length;
  oracle::LogicalRows left(mine.step, mine.reader, a), right(other.step, other.reader, b);
  Distance result;
  for (int64_t row = 0; row < rows; row += kRowsAtATime) {
    const int64_t count = std::min(kRowsAtATime, rows - row);
    const auto& x = left.read(row, count);
    const auto& y = right.read(row, count);
    for (size_t i = 0; i < x.size(); ++i) result.add(x[i] - y[i]);
  }
  return result;
}

bool usable(const Capture& run, const oracle::Logical& logical) {
  if (!logical.complete || !has_values(run.step, logical) || logical.print.masked()) return false;
  const auto& record = run.step.records[static_cast<size_t>(logical.pieces.front().record)];
  return trace::is_floating(record.storage) && trace::size_of(record.storage) <= 4;
}

class Ratios {
 public:
  void add(const std::string& kind, double estimate, double truth) {
    if (truth > 0) by_kind_[kind].push_back(estimate / truth);
  }
  void print() {
    const boost::math::chi_squared sums(trace::kSketchBuckets);
    const auto theory = [&](double p) {
      return std::sqrt(quantile(sums, p) / trace::kSketchBuckets);
    };
    std::printf(
        "| difference | kind of record | pairs | median | 1 %% | 99 %% | least | largest | theory: "
        "least and largest |\n|---|---|---|---|---|---|---|---|---|\n");
    size_t pairs = 0;
    for (auto& [kind, ratios] : by_kind_) {
      pairs += ratios.size();
      std::ranges::sort(ratios);
      const auto n = static_cast<double>(ratios.size());
      const auto at = [&](double p) { return ratios[static_cast<size_t>(p * (n - 1) + 0.5)]; };
      std::printf("| %s | %zu | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f to %.3f |\n", kind.c_str(),
                  ratios.size(), at(0.5), at(0.01), at(0.99), ratios.front(), ratios.back(),
                  theory(0.025 / n), theory(1 - 0.025 / n));
    }
    std::printf("| theory | any | %zu | %.3f | %.3f | %.3f | | | |\n", pairs, theory(0.5),
                theory(0.01), theory(0.99));
  }

 private:
  std::map<std::string, std::vector<double>> by_kind_;
};

// ---- rounding: the same tensor in two layouts

void add_layouts(const Capture& mine, const Capture& other, Ratios& ratios) {
  size_t b = 0;
  for (const auto& logical : mine.logicals) {
    while (b < other.logicals.size() && other.logicals[b].what < logical.what) ++b;
    if (b == other.logicals.size()) return;
    const auto& same = other.logicals[b];
    if (same.what != logical.what || same.shape != logical.shape) continue;
    if (!usable(mine, logical) || !usable(other, same)) continue;
    const Distance truth = distance(mine, logical, other, same);
    const bool few = logical.count > kBlock && truth.elements() < kFew;
    ratios.add("rounding | " + (few ? "any, few elements differ" : kind_of(mine, logical)),
               estimated(logical, same), truth.norm());
  }
}

// ---- planted: one rank's record is wrong

struct Fault {
  std::string name;
  bool everywhere;  // else the kind of record makes no difference
  std::function<void(Values&, int64_t columns, std::mt19937_64&)> plant;
};

double rms(const Values& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

std::vector<Fault> faults() {
  return {{"factor 1.1", true,
           [](Values& values, int64_t, std::mt19937_64&) {
             for (double& value : values) value *= 1.1;
           }},
          {"one element + 30 rms", false,
           [](Values& values, int64_t, std::mt19937_64& random) {
             values[random() % values.size()] += 30 * rms(values);
           }},
          {"one row x 1.1", false,
           [](Values& values, int64_t columns, std::mt19937_64& random) {
             const size_t rows = values.size() / static_cast<size_t>(columns);
             const size_t begin = random() % rows * static_cast<size_t>(columns);
             for (size_t i = begin; i < begin + static_cast<size_t>(columns); ++i) values[i] *= 1.1;
           }},
          {"noise of 0.1 rms", true, [](Values& values, int64_t, std::mt19937_64& random) {
             std::normal_distribution<double> noise(0, 0.1 * rms(values));
             for (double& value : values) value += noise(random);
           }}};
}

// The same logical tensor from the same records, one of them with these bytes.
oracle::Logical assembled_with(const Capture& run, const oracle::Logical& logical, int changed,
                               const std::vector<std::byte>& bytes) {
  trace::Step step;
  step.step = run.step.step;
  for (const int index : run.step.by_what().at(logical.what)) {
    step.records.push_back(run.step.records[static_cast<size_t>(index)]);
    trace::Record& record = step.records.back();
    if (index != changed) continue;
    record.regions =
        trace::fingerprint(trace::contiguous_view(bytes.data(), record.storage, record.local_shape),
                           *record.placement)
            .regions;
  }
  step.build_index();
  return oracle::assemble(step, run.reader.facts()).front();
}

void add_planted(const Capture& run, Ratios& ratios) {
  std::mt19937_64 random(7);
  for (const auto& logical : run.logicals) {
    if (!usable(run, logical) || logical.count <= kBlock) continue;
    const int first = logical.pieces.front().record;
    const auto& record = run.step.records[static_cast<size_t>(first)];
    const Values values = run.reader.read_doubles(record);
    if (rms(values) == 0) continue;
    for (const Fault& fault : faults()) {
      Values changed = values;
      fault.plant(changed, record.local_shape.back(), random);
      Distance truth;
      for (size_t i = 0; i < values.size(); ++i) {
        changed[i] = bench::rounded(changed[i], bench::significand(record.storage));
        truth.add(changed[i] - values[i]);
      }
      const auto bad = assembled_with(run, logical, first, bench::packed(changed, record.storage));
      ratios.add(fault.name + " | " + (fault.everywhere ? kind_of(run, logical) : "any"),
                 estimated(bad, logical), truth.norm() / logical.divisor);
    }
  }
}

void measure(const std::string& program) {
  const fs::path folder = fs::temp_directory_path() / "nanhunt-sketch-error";
  fs::remove_all(folder);
  Ratios ratios;
  for (const std::string dtype : {"fp32", "bf16"}) {
    std::vector<Capture> runs;
    for (const Layout& layout : kLayouts) {
      runs.emplace_back(
          capture(program, folder / (layout.name + dtype), layout.options + " --dtype=" + dtype));
    }
    for (size_t a = 0; a < runs.size(); ++a) {
      for (size_t b = 0; b < a; ++b) add_layouts(runs[a], runs[b], ratios);
      add_planted(runs[a], ratios);
    }
  }
  fs::remove_all(folder);
  ratios.print();
}

}  // namespace
}  // namespace nanhunt

int main(int argc, char** argv) {
  try {
    nanhunt::measure(argc > 1 ? argv[1] : NANHUNT_MINI);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sketch_error: %s\n", error.what());
    return 1;
  }
  return 0;
}
