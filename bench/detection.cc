// SPDX-License-Identifier: Apache-2.0
// The smallest fault that each rule finds, by precision and level of capture (docs/detection.md).
//
//   detection [NANHUNT CASE]     the built program, cases/clean.case
//
// Hunts the healthy case once per precision and level, then plants a fault in one record of one
// rank, the output of a linear layer, in a copy of the candidate's trace: larger and larger, until
// the verdict has a finding of that rule there. What is planted is rounded to the recorded type, as
// the op would have. Nothing downstream is changed: the table is about the place itself.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/planting.h"
#include "bench/stored_values.h"
#include "compare/judge.h"
#include "oracle/envelope.h"
#include "oracle/replay/recompute.h"
#include "trace/error.h"

namespace nanhunt {
namespace {

namespace fs = std::filesystem;
using bench::rounded, bench::truncated, bench::significand;
using bench::Values;

constexpr const char* kSite = "decoder.layers.1.mlp.linear_fc1";
constexpr const char* kShape =
    " --steps 1 --set batch.global=4 --set batch.sequence=256 --set model.layers=2"
    " --set batch.microbatches=1 --set overlap.grad_reduce=off";

[[noreturn]] void fail(const std::string& what) {
  throw trace::Error(trace::ErrorKind::kInternal, what);
}

// What a fault may look at.
struct Target {
  const Values& exact;  // as recomputed
  const Values& found;  // as recorded
  int64_t columns;
  int bits;  // of the recorded type's significand
  double sigma;
  const Values &input, &weight, &bias;  // [rows, k], [columns, k], [columns]
};

struct Fault {
  std::string name;
  std::vector<double> sizes;  // rising; one entry where there is nothing to grade
  std::function<Values(const Target&, double size)> plant;
};

Values scaled(const Target& target, double factor, size_t begin, size_t end) {
  Values values = target.found;
  for (size_t i = begin; i < end; ++i) values[i] = rounded(target.exact[i] * factor, target.bits);
  return values;
}

// Partial sums kept in BF16.
Values narrow_sums(const Target& target, double) {
  const auto n = static_cast<size_t>(target.columns);
  const size_t k = target.weight.size() / n;
  Values values(target.found.size());
  for (size_t i = 0; i < values.size(); ++i) {
    double sum = 0;
    for (size_t j = 0; j < k; ++j) {
      sum = rounded(sum + target.input[i / n * k + j] * target.weight[i % n * k + j], 8);
    }
    values[i] = rounded(sum + target.bias[i % n], target.bits);
  }
  return values;
}

std::vector<Fault> faults() {
  const std::vector<double> factors{1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1};
  return {
      {"all x (1 + s)", factors,
       [](const Target& t, double s) { return scaled(t, 1 + s, 0, t.found.size()); }},
      {"one row x (1 + s)", factors,
       [](const Target& t, double s) {
         return scaled(t, 1 + s, 0, static_cast<size_t>(t.columns));
       }},
      {"one element + s sigma",
       {1e-3, 1e-2, 1e-1, 1, 3, 10, 30},
       [](const Target& t, double s) {
         Values values = t.found;
         values[1234] = rounded(values[1234] + s * t.sigma, t.bits);
         return values;
       }},
      {"two rows swapped",
       {1},
       [](const Target& t, double) {
         Values values = t.found;
         std::swap_ranges(values.begin(), values.begin() + t.columns, values.begin() + t.columns);
         return values;
       }},
      {"bit s stuck at 1 in every 32nd column",
       {0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 14},
       [](const Target& t, double s) {
         Values values = t.found;
         for (size_t i = 0; i < values.size(); i += 32) {
           if (values[i] == 0 || s >= t.bits - 1) continue;
           const double unit = std::ldexp(1.0, std::ilogb(values[i]) - t.bits + 1);
           const auto code = static_cast<int64_t>(std::abs(values[i]) / unit);
           const auto stuck = code | (int64_t{1} << static_cast<int>(s));
           values[i] = std::copysign(static_cast<double>(stuck) * unit, values[i]);
         }
         return values;
       }},
      {"truncated, not rounded",
       {1},
       [](const Target& t, double) {
         Values values = t.exact;
         for (double& value : values) value = truncated(value, t.bits);
         return values;
       }},
      {"sums kept in BF16", {1}, narrow_sums},
  };
}

struct Hunt {
  fs::path folder, candidate, reference, envelope;
};

Hunt hunt(const std::string& program, const std::string& subject, const std::string& dtype,
          const std::string& level) {
  Hunt hunt;
  hunt.folder = fs::temp_directory_path() / ("nanhunt-detection-" + dtype + "-" + level);
  fs::remove_all(hunt.folder);
  fs::create_directories(hunt.folder);
  const fs::path json = hunt.folder / "verdict.out";
  const std::string command = program + " run " + subject + kShape + " --level " + level +
                              " --set precision.dtype=" + dtype +
                              " --set-reference precision.dtype=" + dtype + " --out " +
                              hunt.folder.string() + " --json > " + json.string() + " 2> /dev/null";
  if (std::system(command.c_str()) != 0) fail("not clean: " + command);
  const auto verdict = nlohmann::json::parse(std::ifstream(json));
  hunt.candidate = verdict.at("candidate").get<std::string>();
  hunt.reference = verdict.at("reference").get<std::string>();
  for (const auto& entry : fs::directory_iterator(hunt.folder)) {
    if (entry.path().filename().string().starts_with("envelope-")) hunt.envelope = entry.path();
  }
  if (hunt.envelope.empty()) fail("no envelope in " + hunt.folder.string());
  return hunt;
}

const trace::Record& target_record(const trace::Step& step) {
  for (const auto& record : step.records) {
    const bool there = record.where.rank == 0 && record.what.site == kSite &&
                       record.what.phase == trace::Phase::kForward && record.what.role == "output";
    if (there) return record;
  }
  fail(std::string("no record of ") + kSite);
}

bool finds(const compare::Verdict& verdict, const std::string& rule) {
  const auto there = [&](const oracle::Finding& finding) {
    return finding.rule == rule && finding.what.site == kSite;
  };
  return std::ranges::any_of(verdict.origins, [&](const compare::Origin& origin) {
    return there(origin.finding) || std::ranges::any_of(origin.also, there);
  });
}

struct Found {
  bool replay = false, reference = false;
};

Found judge(const Hunt& hunt, const fs::path& faulty) {
  const auto thresholds = oracle::Thresholds::installed();
  const auto envelope = oracle::read_envelope(hunt.envelope);
  compare::JudgeOptions options;
  options.envelope = &envelope;
  const trace::TraceReader mine(faulty), other(hunt.reference);
  const auto verdict = compare::compare_traces(mine, other, thresholds, options);
  return {finds(verdict, "local_replay"), finds(verdict, "reference_envelope")};
}

std::string text_of(const Fault& fault, double size) {
  if (size < 0) return "not found";
  if (fault.sizes.size() == 1) return "found";
  char text[32];
  std::snprintf(text, sizeof text, "%g", size);
  return text;
}

// The smallest size that each rule finds, -1 for none.
struct Least {
  double replay = -1, reference = -1;
};

class Precision {
 public:
  Precision(const std::string& program, const std::string& subject, const std::string& dtype)
      : full_(hunt(program, subject, dtype, "full")),
        stats_(hunt(program, subject, dtype, "stats")),
        faulty_(full_.folder / "faulty"),
        reader_(full_.candidate),
        step_(reader_.read_step(0)),
        record_(target_record(step_)) {
    std::string why_not;
    const auto exact = oracle::recompute(oracle::ReplayIndex(step_), reader_, record_, why_not);
    if (!exact) fail(why_not);
    exact_ = exact->values;
    found_ = reader_.read_doubles(record_);
    for (const trace::Link& link : record_.links) {
      const auto& operand = step_.records[static_cast<size_t>(step_.find(0, link.sequence))];
      if (operand.what.site == std::string(kSite) + ".weight")
        weight_ = reader_.read_doubles(operand);
      if (operand.what.site == std::string(kSite) + ".bias") bias_ = reader_.read_doubles(operand);
      if (operand.what.role == "input" || operand.what.role == "output")
        input_ = reader_.read_doubles(operand);
    }
  }
  ~Precision() {
    fs::remove_all(full_.folder);
    fs::remove_all(stats_.folder);
  }

  void print(const std::string& dtype) const {
    for (const Fault& fault : faults()) {
      const Least at_full = least(fault, full_, reader_, step_, record_);
      const trace::TraceReader reader(stats_.candidate);
      const trace::Step step = reader.read_step(0);
      const Least at_stats = least(fault, stats_, reader, step, target_record(step));
      std::printf("| %s | %s | %s | %s | %s |\n", fault.name.c_str(), dtype.c_str(),
                  text_of(fault, at_full.replay).c_str(), text_of(fault, at_full.reference).c_str(),
                  text_of(fault, at_stats.reference).c_str());
      std::fflush(stdout);
    }
  }

 private:
  Least least(const Fault& fault, const Hunt& hunt, const trace::TraceReader& reader,
              const trace::Step& step, const trace::Record& record) const {
    const Target target{exact_,
                        found_,
                        record_.local_shape.back(),
                        significand(record_.storage),
                        record_.statistics.rms(),
                        input_,
                        weight_,
                        bias_};
    Least least;
    for (const double size : fault.sizes) {
      bench::plant(reader, step, record, fault.plant(target, size), faulty_);
      const Found found = judge(hunt, faulty_);
      if (found.replay && least.replay < 0) least.replay = size;
      if (found.reference && least.reference < 0) least.reference = size;
    }
    return least;
  }

  Hunt full_, stats_;
  fs::path faulty_;
  trace::TraceReader reader_;
  trace::Step step_;
  const trace::Record& record_;
  Values exact_, found_, input_, weight_, bias_;
};

}  // namespace
}  // namespace nanhunt

int main(int argc, char** argv) {
  const std::string program = argc > 1 ? argv[1] : NANHUNT_PROGRAM;
  const std::string subject = argc > 2 ? argv[2] : NANHUNT_CLEAN_CASE;
  try {
    std::printf(
        "| fault | precision | local_replay (full) | reference (full) | reference (stats) |\n");
    std::printf("|---|---|---|---|---|\n");
    for (const std::string dtype : {"fp32", "bf16", "fp16"})
      nanhunt::Precision(program, subject, dtype).print(dtype);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "detection: %s\n", error.what());
    return 1;
  }
  return 0;
}
