// SPDX-License-Identifier: Apache-2.0
// Speed and peak memory of `nanhunt compare` on traces captured in full, beside h5diff on the same
// files.
//
//   compare_speed [NANHUNT [MiB ...]]     program, default the built one; sizes of a trace, 256
//   2048
//
// Makes pairs of traces of kRecords FP32 tensors each, whose values differ by a rounding here and
// there, and compares them: once as rows of 1024 that grow in number (`tensors`), once as more
// steps of equal size (`steps`). Both programs read every value of both traces. GB/s: bytes of both
// traces over wall time, files in the page cache; peak: resident set of the child (wait4). The
// traces lie in the system's temporary folder (twice the largest size) and are removed. h5diff
// compares the /values group file by file, with a tolerance that the differences do not exceed.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "trace/error.h"
#include "trace/fingerprint.h"
#include "trace/segment.h"

extern char** environ;

namespace nanhunt {
namespace {

namespace fs = std::filesystem;

constexpr int kRecords = 16;  // of one step
constexpr int64_t kRowLength = 1024;
constexpr int64_t kStepMegabytes = 256;  // where steps grow
constexpr double kPeakAim = 1.1;
constexpr int kUnresolved =
    125;  // exit status: tensors differ, no envelope says how far is healthy

struct Shape {
  int64_t steps, rows;  // rows of one tensor
};

[[noreturn]] void fail(const std::string& what) {
  throw trace::Error(trace::ErrorKind::kInternal, what);
}

// Values in [-2, 2); every 64th of the candidate is one unit in the last place off.
std::vector<std::byte> values_of(int64_t step, int record, int64_t elements, bool candidate) {
  std::vector<std::byte> bytes(static_cast<size_t>(elements) * sizeof(float));
  uint64_t state = static_cast<uint64_t>(step * kRecords + record + 1) * 0x9E3779B97F4A7C15ull;
  for (int64_t i = 0; i < elements; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    uint32_t code = 0x3F800000u | static_cast<uint32_t>(state >> 41) | (state >> 63 << 31);
    if (candidate && i % 64 == 0) code ^= 1;
    std::memcpy(bytes.data() + i * static_cast<int64_t>(sizeof code), &code, sizeof code);
  }
  return bytes;
}

// One file a record, so that making a trace takes little memory.
void write_record(const fs::path& folder, int64_t step, int record, int64_t rows, bool candidate) {
  trace::Segment segment;
  segment.step = step;
  segment.index = record;
  segment.cut = record + 1 == kRecords ? trace::CutReason::kStepEnd : trace::CutReason::kAge;
  segment.values.push_back(values_of(step, record, rows * kRowLength, candidate));
  trace::Record row;
  row.what.step = step;
  row.what.site = "layers." + std::to_string(record);
  row.what.role = "output";
  row.where.sequence = record;
  row.local_shape = {rows, kRowLength};
  row.placement =
      std::make_shared<trace::Placement>(trace::whole({"token", "channel"}, {rows, kRowLength}));
  row.has_values = true;
  auto prints = trace::fingerprint(
      trace::contiguous_view(segment.values[0].data(), row.storage, row.local_shape),
      *row.placement);
  row.statistics = prints.statistics;
  row.raw_digest = prints.raw_digest;
  row.regions = std::move(prints.regions);
  segment.records.push_back(std::move(row));
  trace::write_segment(folder, segment);
}

void write_trace(const fs::path& folder, const Shape& shape, bool candidate) {
  for (int64_t step = 0; step < shape.steps; ++step) {
    for (int record = 0; record < kRecords; ++record) {
      write_record(folder, step, record, shape.rows, candidate);
    }
  }
}

// In a child: a started program is charged with the peak of the process that starts it.
void write_pair(const fs::path& candidate, const fs::path& reference, const Shape& shape) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      write_trace(candidate, shape, true);
      write_trace(reference, shape, false);
      _exit(0);
    } catch (const trace::Error& error) {
      std::fprintf(stderr, "compare_speed: %s\n", error.what());
      _exit(1);
    }
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) fail("no traces to compare");
}

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  return files;
}

double bytes_of(const fs::path& folder) {
  double bytes = 0;
  for (const fs::path& file : files_of(folder)) bytes += static_cast<double>(fs::file_size(file));
  return bytes;
}

struct Usage {
  double seconds = 0, cpu = 0;
  double peak_mib = 0;
  int status = 0;
};

// Runs the program with its output thrown away.
Usage run(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const auto start = std::chrono::steady_clock::now();
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) fail("cannot start " + arguments[0] + ": " + std::strerror(error));
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) != child) fail("cannot wait for " + arguments[0]);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  if (!WIFEXITED(status)) fail(arguments[0] + " was killed");
  return {wall.count(), seconds(usage.ru_utime) + seconds(usage.ru_stime),
          static_cast<double>(usage.ru_maxrss) / 1024, WEXITSTATUS(status)};
}

void print(const char* growing, int64_t megabytes, const char* program, double bytes,
           const Usage& usage) {
  std::printf("%-8s %6lld %-8s %7.2f %7.2f %6.2f %9.1f", growing, static_cast<long long>(megabytes),
              program, usage.seconds, usage.cpu, 1e-9 * bytes / usage.seconds, usage.peak_mib);
  std::fflush(stdout);
}

// Peak of compare in MiB.
double measure(const std::string& nanhunt, const fs::path& folder, const char* growing,
               int64_t megabytes, const Shape& shape, double smallest_peak) {
  const fs::path candidate = folder / "candidate", reference = folder / "reference";
  write_pair(candidate, reference, shape);
  const double bytes = bytes_of(candidate) + bytes_of(reference);
  const Usage compare = run({nanhunt, "compare", candidate, reference});
  if (compare.status != kUnresolved) {
    fail("compare ends with status " + std::to_string(compare.status));
  }
  print(growing, megabytes, "compare", bytes, compare);
  if (smallest_peak > 0) {
    std::printf("  %5.2f of the smallest (aim %.1f)", compare.peak_mib / smallest_peak, kPeakAim);
  }
  std::printf("\n");
  Usage diff;
  for (const fs::path& file : files_of(candidate)) {
    const Usage one = run({"h5diff", "--relative=1e-3", file,
                           reference / fs::relative(file, candidate), "/values", "/values"});
    if (one.status != 0) fail("h5diff finds a difference in " + file.string());
    diff.seconds += one.seconds;
    diff.cpu += one.cpu;
    diff.peak_mib = std::max(diff.peak_mib, one.peak_mib);
  }
  print(growing, megabytes, "h5diff", bytes, diff);
  std::printf("\n");
  fs::remove_all(candidate);
  fs::remove_all(reference);
  return compare.peak_mib;
}

void run_all(const std::string& nanhunt, const std::vector<int64_t>& sizes) {
  std::string name = (fs::temp_directory_path() / "nanhunt-bench-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) fail("cannot create " + name);
  struct Remove {
    std::string name;
    ~Remove() {
      std::error_code ignored;
      fs::remove_all(name, ignored);
    }
  } const remove{name};
  const auto rows = [](int64_t megabytes) {
    return (megabytes << 20) / kRecords / kRowLength / static_cast<int64_t>(sizeof(float));
  };
  std::printf("%-8s %6s %-8s %7s %7s %6s %9s\n", "growing", "MiB", "program", "s", "cpu_s", "GB/s",
              "peak_MiB");
  for (const bool steps : {false, true}) {
    double smallest = 0;
    for (const int64_t megabytes : sizes) {
      const Shape shape = steps ? Shape{megabytes / kStepMegabytes, rows(kStepMegabytes)}
                                : Shape{1, rows(megabytes)};
      if (shape.steps < 1) continue;
      const double peak =
          measure(nanhunt, name, steps ? "steps" : "tensors", megabytes, shape, smallest);
      if (smallest == 0) smallest = peak;
    }
  }
}

}  // namespace
}  // namespace nanhunt

int main(int argc, char** argv) {
  const auto built =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../cli/nanhunt";
  const std::string program = argc > 1 ? argv[1] : built.string();
  std::vector<int64_t> sizes;
  for (int i = 2; i < argc; ++i) sizes.push_back(std::strtol(argv[i], nullptr, 10));
  if (sizes.empty()) sizes = {256, 2048};
  try {
    nanhunt::run_all(program, sizes);
  } catch (const nanhunt::trace::Error& error) {
    std::fprintf(stderr, "compare_speed: %s\n", error.what());
    return static_cast<int>(error.kind());
  }
}
