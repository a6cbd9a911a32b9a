// SPDX-License-Identifier: Apache-2.0
// Speed of the statistics and fingerprint pass beside plain reading of the same memory in the same
// run, for each version of the pass that this machine has. One thread.
//
//   fingerprint_speed [MiB]        default 256
//
// Time is that of the thread on its processor, so that other programs disturb less.
// Rows: type, version, length of a run (a TP slice of that width; "all" = one run), GB/s of plain
// reading, of the kernel alone (statistics, value digest, sketch), and of fingerprint() whole (raw
// digest too); then the share of plain reading that the last figure reaches. Each figure is the
// best of five passes; passes alternate, so that a change of the machine's clock meets all of them.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trace/fingerprint.h"
#include "trace/fingerprint_kernel.h"

namespace nanhunt::trace {
namespace {

constexpr int kRepeats = 5;

struct Version {
  std::string name;
  RunKernel (*kernel)(DType);
};

std::vector<Version> versions_here() {
  std::vector<Version> versions{{"portable", portable_kernel}};
  if (fingerprint_version() != "portable") versions.push_back({"avx2", avx2_kernel});
  if (fingerprint_version() == "avx512") versions.push_back({"avx512", avx512_kernel});
  return versions;
}

double thread_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double seconds(const std::function<void()>& pass) {
  const double start = thread_seconds();
  pass();
  return thread_seconds() - start;
}

uint64_t read_plainly(const std::vector<std::byte>& bytes) {
  const auto* words = reinterpret_cast<const uint64_t*>(bytes.data());
  const size_t count = bytes.size() / sizeof(uint64_t);
  uint64_t sum[8] = {};
  for (size_t i = 0; i + 8 <= count; i += 8) {
    for (size_t j = 0; j < 8; ++j) sum[j] += words[i + j];
  }
  uint64_t total = 0;
  for (uint64_t part : sum) total += part;
  return total;
}

// Runs of `length` elements out of logical rows three times as long.
void run_kernel(RunKernel kernel, const std::vector<std::byte>& bytes, size_t element,
                uint64_t length, Accumulator& sums) {
  const uint64_t count = bytes.size() / element;
  for (uint64_t done = 0, row = 0; done < count; done += length, ++row) {
    kernel(bytes.data() + done * element, (3 * row + 1) * length, std::min(length, count - done),
           sums);
  }
}

void print_row(DType dtype, const Version& version, const std::vector<std::byte>& bytes,
               uint64_t length) {
  const RunKernel kernel = version.kernel(dtype);
  if (kernel == nullptr) return;
  const uint64_t count = bytes.size() / size_of(dtype);
  const bool whole_run = length == count;
  const bool timed_whole =
      whole_run && (version.name == "portable" || version.name == fingerprint_version());
  PrintOptions options;
  options.portable = version.name == "portable";
  const TensorView view = contiguous_view(bytes.data(), dtype, {static_cast<int64_t>(count)});
  const Placement placement = whole({"channel"}, view.shape);
  double plain = 1e9, alone = 1e9, with_raw = 1e9;
  uint64_t keep = 0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    plain = std::min(plain, seconds([&] { keep += read_plainly(bytes); }));
    alone = std::min(alone, seconds([&] {
                       const auto sums = std::make_unique<Accumulator>();
                       run_kernel(kernel, bytes, size_of(dtype), length, *sums);
                       keep += sums->digest[0];
                     }));
    if (!timed_whole) continue;
    with_raw = std::min(with_raw,
                        seconds([&] { keep += fingerprint(view, placement, options).raw_digest; }));
  }
  const double gigabytes = static_cast<double>(bytes.size()) / 1e9;
  std::printf("%-9s %-9s %6s %7.1f %7.2f ", std::string(name_of(dtype)).c_str(),
              version.name.c_str(), whole_run ? "all" : std::to_string(length).c_str(),
              gigabytes / plain, gigabytes / alone);
  if (timed_whole)
    std::printf("%7.2f ", gigabytes / with_raw);
  else
    std::printf("%7s ", "");
  std::printf("%6.2f%s\n", plain / (timed_whole ? with_raw : alone), keep == 0x6E616E68 ? "." : "");
}

int run(size_t mebibytes) {
  std::vector<std::byte> bytes(mebibytes << 20);
  std::printf("%-9s %-9s %6s %7s %7s %7s %6s   GB/s on one thread\n", "type", "version", "run",
              "plain", "kernel", "whole", "share");
  for (DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16, DType::kFloat64,
                      DType::kFloat8E4M3, DType::kFloat8E5M2}) {
    // Bytes of small positive and negative numbers in every floating type.
    for (size_t i = 0; i < bytes.size(); ++i) {
      const uint64_t random = mix(i + 1);
      const bool top = i % size_of(dtype) == size_of(dtype) - 1;
      bytes[i] = static_cast<std::byte>(top ? (random & 0x80) | (0x30 + (random & 7)) : random);
    }
    const uint64_t count = bytes.size() / size_of(dtype);
    for (const Version& version : versions_here()) {
      if (version.name == "portable") {  // slow: a part of the memory is enough
        const std::vector<std::byte> part(bytes.begin(), bytes.begin() + bytes.size() / 16);
        print_row(dtype, version, part, count / 16);
        continue;
      }
      print_row(dtype, version, bytes, count);
      if (dtype != DType::kFloat32 && dtype != DType::kBFloat16) continue;
      for (uint64_t length : {8, 16, 48, 64, 96, 1000}) print_row(dtype, version, bytes, length);
    }
  }
  return 0;
}

}  // namespace
}  // namespace nanhunt::trace

int main(int argc, char** argv) {
  return nanhunt::trace::run(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 256);
}
