// SPDX-License-Identifier: Apache-2.0
// The smallest fault that each rule without a reference finds in the record that it judges, by
// precision and level of capture (docs/detection.md).
//
//   detection_by_rules [MINI [RULE]]     the built program of the bundled subject
//
// Captures a healthy run of two steps on four tensor-parallel ranks, plants a fault in one record
// of rank 0 in the second step, larger and larger, and scans, until that rule has a finding there.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/planting.h"
#include "compare/judge.h"
#include "trace/error.h"

namespace nanhunt {
namespace {

namespace fs = std::filesystem;
using bench::rounded, bench::truncated, bench::Values;
using trace::Phase;

constexpr const char* kShape = " --steps=2 --layers=2 --sequence=64 --tp=4 --clip=0.1";
constexpr const char* kParameter = "decoder.layers.1.mlp.linear_fc1.weight";
constexpr const char* kProduct = "decoder.layers.1.self_attention.linear_proj";
constexpr int64_t kStep = 1;
constexpr int kNarrow = 8;  // bits of BF16

[[noreturn]] void fail(const std::string& what) {
  throw trace::Error(trace::ErrorKind::kInternal, what);
}

struct Place {
  const char* site;
  Phase phase;
  const char* role;
  int32_t rank = 0;
};

// Two captures of one program: it gives the same bits each time.
class Run {
 public:
  Run(const std::string& program, const fs::path& folder, const std::string& dtype,
      const std::string& level)
      : reader(captured(program, folder, dtype, level)),
        before(reader.read_step(kStep - 1)),
        step(reader.read_step(kStep)) {}

  static const trace::Record& find(const trace::Step& in, const Place& place) {
    for (const auto& record : in.records) {
      const bool there = record.where.rank == place.rank && record.what.site == place.site &&
                         record.what.phase == place.phase && record.what.role == place.role;
      if (there) return record;
    }
    fail(std::string("no record of ") + place.site + " " + place.role);
  }
  Values values(const Place& place) const { return reader.read_doubles(find(step, place)); }
  Values old(const Place& place) const { return reader.read_doubles(find(before, place)); }
  double attribute(const Place& place, const char* name) const {
    return nlohmann::json::parse(find(step, place).attributes).at(name).get<double>();
  }

  trace::TraceReader reader;
  trace::Step before, step;

 private:
  static fs::path captured(const std::string& program, const fs::path& folder,
                           const std::string& dtype, const std::string& level) {
    const std::string command = "NANHUNT_CAPTURE='{\"level\": \"" + level + "\", \"out\": \"" +
                                folder.string() + "\"}' " + program + kShape + " --dtype=" + dtype +
                                " > /dev/null";
    if (std::system(command.c_str()) != 0) fail("failed: " + command);
    return folder;
  }
};

// ---- what a rule judges, and its exact value in FP64; `narrow`: each operation rounded to BF16

using Exact = std::function<Values(const Run&, bool narrow)>;

struct Judged {
  std::string title, rule;
  Place place;
  Exact exact;
};

double kept(double value, bool narrow) {
  return narrow ? rounded(value, kNarrow) : value;
}

Values sum_of_operands(const Run& run, bool narrow) {
  Values sum;
  for (int32_t rank = 0; rank < 4; ++rank) {
    const Values term = run.values({kProduct, Phase::kPreCollective, "output", rank});
    if (sum.empty()) sum.resize(term.size());
    for (size_t i = 0; i < sum.size(); ++i) sum[i] = kept(sum[i] + term[i], narrow);
  }
  return sum;
}

constexpr Place kClipped{kParameter, Phase::kClipped, "grad"};
constexpr Place kFirst{kParameter, Phase::kUpdate, "exp_avg"};
constexpr Place kSecond{kParameter, Phase::kUpdate, "exp_avg_sq"};
constexpr Place kMaster{kParameter, Phase::kUpdate, "master"};
constexpr Place kParam{kParameter, Phase::kUpdate, "param"};

Values clipped(const Run& run, bool narrow) {
  const double factor = run.values({"optimizer", Phase::kClipped, "clip_factor"}).front();
  Values values = run.values({kParameter, Phase::kUnscaled, "grad"});
  for (double& value : values) value = kept(value * kept(factor, narrow), narrow);
  return values;
}

Values first_moment(const Run& run, bool narrow) {
  const double beta = run.attribute(kFirst, "beta1");
  const Values gradient = run.values(kClipped);
  Values moment = run.old(kFirst);
  for (size_t i = 0; i < moment.size(); ++i)
    moment[i] = kept(kept(beta * moment[i], narrow) + (1 - beta) * gradient[i], narrow);
  return moment;
}

Values second_moment(const Run& run, bool narrow) {
  const double beta = run.attribute(kSecond, "beta2");
  const Values gradient = run.values(kClipped);
  Values moment = run.old(kSecond);
  for (size_t i = 0; i < moment.size(); ++i) {
    const double fresh = (1 - beta) * kept(gradient[i] * gradient[i], narrow);
    moment[i] = kept(kept(beta * moment[i], narrow) + fresh, narrow);
  }
  return moment;
}

Values updated(const Run& run, bool narrow) {
  const auto number = [&](const char* name) { return run.attribute(kMaster, name); };
  const double lr = number("lr"), decay = number("weight_decay"), eps = number("eps");
  const double one = 1 - std::pow(number("beta1"), number("step"));
  const double two = 1 - std::pow(number("beta2"), number("step"));
  const Values m = run.values(kFirst), v = run.values(kSecond);
  Values theta = run.old(kMaster);
  for (size_t i = 0; i < theta.size(); ++i) {
    const double update = lr * (m[i] / one) / (std::sqrt(v[i] / two) + eps);
    theta[i] = kept(theta[i] * (1 - lr * decay) - kept(update, narrow), narrow);
  }
  return theta;
}

std::vector<Judged> judged() {
  const Place product{kProduct, Phase::kPostCollective, "output"};
  const Place norm{"optimizer", Phase::kClipped, "grad_norm"};
  return {{"result of an all-reduce", "collective_residual", product, sum_of_operands},
          {"the same", "replicas_equal", product, sum_of_operands},
          {"gradient norm", "norm_recomputed", norm, {}},
          {"clipped gradient", "clip_recomputed", kClipped, clipped},
          {"exp_avg", "moments_recomputed", kFirst, first_moment},
          {"exp_avg_sq", "moments_recomputed", kSecond, second_moment},
          {"master", "update_recomputed", kMaster, updated},
          {"parameter", "update_recomputed", kParam,
           [](const Run& run, bool) { return run.values(kMaster); }}};
}

// ---- faults

struct Target {
  Values found, exact, narrow;  // the latter two may be empty
  int64_t columns;
  int bits;
  double sigma;
};

struct Fault {
  std::string name;
  std::vector<double> sizes;
  std::function<Values(const Target&, double size)> plant;  // empty: does not apply
};

Values scaled(const Target& t, double factor, size_t end) {
  Values values = t.found;
  for (size_t i = 0; i < end; ++i) values[i] = rounded(values[i] * factor, t.bits);
  return values;
}

Values with_stuck_bit(const Target& t, double bit) {
  Values values = t.found;
  for (size_t i = 0; i < values.size(); i += 32) {
    if (values[i] == 0 || bit >= t.bits - 1) continue;
    const double unit = std::ldexp(1.0, std::ilogb(values[i]) - t.bits + 1);
    const auto code = static_cast<int64_t>(std::abs(values[i]) / unit);
    const auto stuck = code | (int64_t{1} << static_cast<int>(bit));
    values[i] = std::copysign(static_cast<double>(stuck) * unit, values[i]);
  }
  return values;
}

std::vector<Fault> faults() {
  const std::vector<double> factors{1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1};
  const auto rows = [](const Target& t) { return t.found.size() / static_cast<size_t>(t.columns); };
  return {
      {"all x (1 + s)", factors,
       [](const Target& t, double s) { return scaled(t, 1 + s, t.found.size()); }},
      {"one row x (1 + s)", factors,
       [=](const Target& t, double s) {
         if (rows(t) < 2) return Values{};
         return scaled(t, 1 + s, static_cast<size_t>(t.columns));
       }},
      {"one element + s sigma",
       {1e-3, 1e-2, 1e-1, 1, 3, 10, 30},
       [=](const Target& t, double s) {
         if (rows(t) < 2) return Values{};
         Values values = t.found;
         values[1234] = rounded(values[1234] + s * t.sigma, t.bits);
         return values;
       }},
      {"two rows swapped",
       {1},
       [=](const Target& t, double) {
         if (rows(t) < 2) return Values{};
         Values values = t.found;
         std::swap_ranges(values.begin(), values.begin() + t.columns, values.begin() + t.columns);
         return values;
       }},
      {"bit s stuck at 1 in every 32nd element",
       {0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 18, 22},
       [=](const Target& t, double s) { return rows(t) < 2 ? Values{} : with_stuck_bit(t, s); }},
      {"truncated, not rounded",
       {1},
       [](const Target& t, double) {
         Values values = t.exact;
         for (double& value : values) value = truncated(value, t.bits);
         return values;
       }},
      {"computed in BF16", {1}, [](const Target& t, double) {
         Values values = t.narrow;
         for (double& value : values) value = rounded(value, t.bits);
         return values;
       }}};
}

// ---- table

bool finds(const trace::TraceReader& faulty, const Judged& what) {
  compare::JudgeOptions options;
  options.replay = false;
  const auto verdict = compare::scan(faulty, oracle::Thresholds::installed(), options);
  const auto there = [&](const oracle::Finding& finding) {
    return finding.rule == what.rule && finding.what.site == what.place.site &&
           finding.what.phase == what.place.phase;
  };
  return std::ranges::any_of(verdict.origins, [&](const compare::Origin& origin) {
    return there(origin.finding) || std::ranges::any_of(origin.also, there);
  });
}

class Table {
 public:
  Table(const std::string& program, const fs::path& folder, const std::string& dtype)
      : dtype_(dtype),
        faulty_(folder / "faulty"),
        full_(program, folder / (dtype + "-full"), dtype, "full"),
        stats_(program, folder / (dtype + "-stats"), dtype, "stats") {}

  // Of one rule; "": of all.
  void print(const std::string& rule) const {
    for (const Judged& what : judged()) {
      if (!rule.empty() && rule != what.rule) continue;
      const trace::Record& record = Run::find(full_.step, what.place);
      const Target target{full_.values(what.place),
                          what.exact ? what.exact(full_, false) : Values{},
                          what.exact ? what.exact(full_, true) : Values{},
                          record.local_shape.empty() ? 1 : record.local_shape.back(),
                          bench::significand(record.storage),
                          record.statistics.rms()};
      std::printf("| %s, %s | %s |", what.title.c_str(), dtype_.c_str(), what.rule.c_str());
      for (const Fault& fault : faults()) {
        const std::string stats = least(stats_, what, target, fault);
        const std::string full = least(full_, what, target, fault);
        std::printf(" %s |", stats == full ? stats.c_str() : (stats + "; full " + full).c_str());
      }
      std::printf("\n");
      std::fflush(stdout);
    }
  }

 private:
  std::string least(const Run& run, const Judged& what, const Target& target,
                    const Fault& fault) const {
    bool changes = false;
    for (const double size : fault.sizes) {
      const Values values = fault.plant(target, size);
      if (values.empty() || values == target.found) continue;
      changes = true;
      bench::plant(run.reader, run.step, Run::find(run.step, what.place), values, faulty_);
      if (!finds(trace::TraceReader(faulty_), what)) continue;
      if (fault.sizes.size() == 1) return "found";
      char text[32];
      std::snprintf(text, sizeof text, "%g", size);
      return text;
    }
    return changes ? "no" : "-";
  }

  std::string dtype_;
  fs::path faulty_;
  Run full_, stats_;
};

}  // namespace
}  // namespace nanhunt

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  const std::string program = argc > 1 ? argv[1] : NANHUNT_MINI;
  const fs::path folder = fs::temp_directory_path() / "nanhunt-detection-by-rules";
  try {
    fs::remove_all(folder);
    std::string line = "|---|---|";
    std::printf("| record | rule |");
    for (const auto& fault : nanhunt::faults()) {
      std::printf(" %s |", fault.name.c_str());
      line += "---|";
    }
    std::printf("\n%s\n", line.c_str());
    for (const std::string dtype : {"fp32", "bf16"})
      nanhunt::Table(program, folder, dtype).print(argc > 2 ? argv[2] : "");
    fs::remove_all(folder);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "detection_by_rules: %s\n", error.what());
    return 1;
  }
  return 0;
}
