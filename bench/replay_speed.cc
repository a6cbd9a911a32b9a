// SPDX-License-Identifier: Apache-2.0
// Speed of local replay on one core, each beside what bounds it, measured in one run:
//   linear   against FP64 dgemm of the same shape (OpenBLAS, one thread)
//   add      against a plain read of its operands and result, from the trace file and, harder, from
//            memory that holds them already
//   gelu     against a bare loop of erfc, the one function it takes forward
// A replay is whole: values read from the trace file (page cache), widened, computed, bounded and
// tested. Each round runs a replay and then its bound; what is printed are medians over the rounds,
// of processor time, and of the ratios within a round: other programs on the machine slow both.
//
//   replay_speed [ROUNDS [REPLAY]]     default: 15, all three
#include <cblas.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "oracle/replay/error_test.h"
#include "oracle/replay/recompute.h"
#include "oracle/replay/value_stream.h"
#include "trace/error.h"
#include "trace/fingerprint.h"
#include "trace/read_buffer.h"
#include "trace/segment.h"

namespace nanhunt {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRows = 2048, kWidth = 2048;
constexpr double kLambda = 8;

double seconds_of(const std::function<void()>& work) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double begin = now();
  work();
  return now() - begin;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::vector<float> values_of(uint64_t seed, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  uint64_t state = seed * 0x9E3779B97F4A7C15ull + 1;
  for (float& value : values) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    value = static_cast<float>(static_cast<int64_t>(state >> 11)) * 0x1p-52f - 1.0f;
  }
  return values;
}

struct Tape {
  trace::Segment segment;

  int64_t add(const std::string& site, const std::string& role, const std::string& op,
              std::vector<trace::Link> links, const std::vector<float>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    trace::Record record;
    record.what.site = site;
    record.what.role = role;
    record.where.sequence = static_cast<int64_t>(segment.records.size());
    record.local_shape = {kRows, kWidth};
    record.op = op;
    record.links = std::move(links);
    record.placement =
        std::make_shared<trace::Placement>(trace::whole({"token", "channel"}, {kRows, kWidth}));
    const auto print =
        trace::fingerprint(trace::contiguous_view(bytes.data(), record.storage, record.local_shape),
                           *record.placement);
    record.statistics = print.statistics;
    record.raw_digest = print.raw_digest;
    record.regions = print.regions;
    record.has_values = true;
    segment.records.push_back(std::move(record));
    segment.values.push_back(std::move(bytes));
    return segment.records.back().where.sequence;
  }
};

class Bench {
 public:
  Bench(int rounds, std::string only) : rounds_(rounds), only_(std::move(only)) {
    folder_ = fs::temp_directory_path() / ("nanhunt-replay-" + std::to_string(getpid()));
    write({}, {}, {});
    // A second time with what the ops really give: healthy values are what replay meets.
    write(result_of(linear_), result_of(add_), result_of(gelu_));
  }
  ~Bench() { fs::remove_all(folder_); }

  void run() const {
    std::printf("one thread, %ld x %ld, FP32 captured; processor seconds, medians of %d rounds\n\n",
                static_cast<long>(kRows), static_cast<long>(kWidth), rounds_);
    std::printf(
        "| replay | seconds | bound by | seconds | bound / replay |\n|---|---|---|---|---|\n");
    line("linear", replay(linear_), "FP64 dgemm", gemm());
    line("add", replay(add_), "plain read of 3 tensors", read_from_file());
    line("add", replay(add_), "the same, in memory", read_from_memory());
    line("gelu", replay(gelu_), "bare erfc", bare_gelu());
  }

 private:
  using Work = std::function<void()>;

  void line(const char* name, const Work& mine, const char* bound, const Work& other) const {
    if (!only_.empty() && only_ != name) return;
    std::vector<double> times, bounds, ratios;
    for (int round = 0; round < rounds_; ++round) {
      times.push_back(seconds_of(mine));
      bounds.push_back(seconds_of(other));
      ratios.push_back(bounds.back() / times.back());
    }
    std::printf("| %s | %.4f | %s | %.4f | %.2f |\n", name, median(times), bound, median(bounds),
                median(ratios));
  }

  void write(std::vector<float> linear, std::vector<float> sum, std::vector<float> gelu) {
    for (auto* values : {&linear, &sum, &gelu}) values->resize(kRows * kWidth);
    Tape tape;
    const auto x = tape.add("before", "output", "", {}, values_of(1, kRows * kWidth));
    const auto y = tape.add("other", "output", "", {}, values_of(2, kRows * kWidth));
    const auto w = tape.add("fc.weight", "param", "", {}, values_of(3, kRows * kWidth));
    linear_ = tape.add("fc", "output", "linear", {{x, {}}, {w, {}}}, linear);
    add_ = tape.add("sum", "output", "add", {{x, {}}, {y, {}}}, sum);
    gelu_ = tape.add("act", "output", "gelu", {{x, {}}}, gelu);
    tape.segment.cut = trace::CutReason::kStepEnd;
    fs::remove_all(folder_);
    trace::write_segment(folder_, tape.segment);
  }

  std::vector<float> result_of(int64_t sequence) const {
    const trace::TraceReader reader(folder_);
    const trace::Step step = reader.read_step(0);
    std::string why_not;
    const auto result =
        oracle::recompute(oracle::ReplayIndex(step), reader,
                          step.records[static_cast<size_t>(step.find(0, sequence))], why_not);
    if (!result) throw trace::Error(trace::ErrorKind::kInternal, why_not);
    return {result->values.begin(), result->values.end()};
  }

  Work replay(int64_t sequence) const {
    const auto reader = std::make_shared<trace::TraceReader>(folder_);
    const auto step = std::make_shared<trace::Step>(reader->read_step(0));
    const auto index = std::make_shared<oracle::ReplayIndex>(*step);
    return [=] {
      const auto& record = step->records[static_cast<size_t>(step->find(0, sequence))];
      std::string why_not;
      std::optional<oracle::ErrorTester> tester;
      const auto take = [&](const oracle::Compared& block) {
        if (!tester) {
          tester.emplace(oracle::Rounding{0x1p-24, 0x1p-24, 0x1p-149, 3.4e38, 0}, block.roundings,
                         kLambda, kRows * kWidth);
        }
        tester->add(block.found, block.values, block.magnitudes);
      };
      if (!oracle::recompute_by_blocks(*index, *reader, record, take, why_not))
        throw trace::Error(trace::ErrorKind::kInternal, why_not);
      if (tester->result().suspicious() > 1)
        throw trace::Error(trace::ErrorKind::kInternal, "out of rule");
    };
  }

  Work gemm() const {
    const auto values = [](double value) {
      return std::make_shared<std::vector<double>>(static_cast<size_t>(kRows * kWidth), value);
    };
    const auto a = values(0.5), b = values(0.25), c = values(0);
    return [=, this] {
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, kRows, kWidth, kWidth, 1.0, a->data(),
                  kWidth, b->data(), kWidth, 0.0, c->data(), kWidth);
      sink_ = (*c)[1];
    };
  }

  // Every byte is looked at; a sum of words is the least that does.
  void look_at(std::span<const uint64_t> words) const {
    uint64_t sum[8] = {};
    for (size_t i = 0; i + 8 <= words.size(); i += 8) {
      for (size_t k = 0; k < 8; ++k) sum[k] += words[i + k];
    }
    sink_ = static_cast<double>(sum[0] ^ sum[5]);
  }

  // In pieces that stay in the cache, as a replay reads.
  Work read_from_file() const {
    const auto reader = std::make_shared<trace::TraceReader>(folder_);
    const auto step = std::make_shared<trace::Step>(reader->read_step(0));
    const auto piece = std::make_shared<trace::ReadBuffer>(oracle::ValueStream::kBytes);
    return [=, this] {
      constexpr int64_t kElements = oracle::ValueStream::kBytes / int64_t{sizeof(float)};
      const auto& sum = step->records[static_cast<size_t>(step->find(0, add_))];
      for (const int64_t sequence : {sum.links[0].sequence, sum.links[1].sequence, add_}) {
        const auto& record = step->records[static_cast<size_t>(step->find(0, sequence))];
        for (int64_t begin = 0; begin < kRows * kWidth; begin += kElements) {
          reader->read_values(record, begin, kElements, piece->first(piece->size()));
          look_at({reinterpret_cast<const uint64_t*>(piece->data()), piece->size() / 8});
        }
      }
    };
  }

  Work read_from_memory() const {
    const auto words =
        std::make_shared<std::vector<uint64_t>>(static_cast<size_t>(3 * kRows * kWidth) / 2, 1);
    return [=, this] { look_at(*words); };
  }

  Work bare_gelu() const {
    const auto values = std::make_shared<std::vector<float>>(values_of(7, kRows * kWidth));
    return [=, this] {
      double sum = 0;
      for (const float value : *values) {
        const double x = value;
        sum += std::erfc(-x * 0.7071067811865476);
      }
      sink_ = sum;
    };
  }

  int rounds_;
  std::string only_;
  fs::path folder_;
  int64_t linear_ = 0, add_ = 0, gelu_ = 0;
  mutable volatile double sink_ = 0;
};

}  // namespace
}  // namespace nanhunt

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
  if (argc > 3 || rounds < 1) {
    std::fprintf(stderr, "usage: replay_speed [ROUNDS [REPLAY]]\n");
    return 2;
  }
  try {
    nanhunt::Bench(rounds, argc > 2 ? argv[2] : "").run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "replay_speed: %s\n", error.what());
    return 1;
  }
  return 0;
}
