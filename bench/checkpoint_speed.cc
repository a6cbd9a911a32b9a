// SPDX-License-Identifier: Apache-2.0
// Speed and peak memory of the scan of a checkpoint (checkpoint/scan.h), from the page cache, on
// one thread, by processor time (user and system).
//
//   checkpoint_speed [MiB ...]     sizes of the file, default 256 2048
//
// For each type a file of tensors of 16 MiB, random values of the type's whole range of normal
// numbers, is written to the system's temporary folder and scanned three times; the best time is
// told. `plain` reads the same file in the same windows and does nothing with them. Peak: resident
// set of this process so far, which the sizes must not raise.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "checkpoint/scan.h"

namespace nanhunt {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kTensorBytes = 16 << 20;
constexpr int kRepeats = 3;

// Two bytes a draw, with a bit of the exponent cleared: finite as BF16, FP16 and FP32.
std::vector<uint16_t> random_values(uint64_t seed) {
  std::vector<uint16_t> values(kTensorBytes / 2);
  uint64_t state = seed + 1;
  for (uint16_t& value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<uint16_t>(state >> 40) & 0xBFFF;
  }
  return values;
}

void write_file(const fs::path& path, const std::string& dtype, int64_t element, int64_t tensors) {
  std::string header = "{";
  for (int64_t i = 0; i < tensors; ++i) {
    header += (i == 0 ? "\"t" : ",\"t") + std::to_string(i) + R"(.weight":{"dtype":")" + dtype +
              R"(","shape":[1024,)" + std::to_string(kTensorBytes / element / 1024) +
              R"(],"data_offsets":[)" + std::to_string(i * kTensorBytes) + "," +
              std::to_string((i + 1) * kTensorBytes) + "]}";
  }
  header += "}";
  const uint64_t length = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << header;
  for (int64_t i = 0; i < tensors; ++i) {
    const auto values = random_values(static_cast<uint64_t>(i));
    file.write(reinterpret_cast<const char*>(values.data()), kTensorBytes);
  }
}

template <class Work>
double best_seconds(Work work) {
  double best = 1e9;
  for (int i = 0; i < kRepeats; ++i) {
    const std::clock_t start = std::clock();
    work();
    best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return best;
}

void read_plainly(const fs::path& path) {
  const checkpoint::FileHeader header = checkpoint::read_header(path);
  const checkpoint::TensorData data(header);
  for (const checkpoint::TensorEntry& tensor : header.tensors) {
    checkpoint::for_each_window(data, tensor,
                                [](int64_t, std::span<const std::byte>) { return true; });
  }
}

double peak_mebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void measure(const std::string& dtype, int64_t element, int64_t mebibytes) {
  const fs::path path =
      fs::temp_directory_path() / ("nanhunt-checkpoint-speed-" + dtype + ".safetensors");
  const int64_t tensors = std::max<int64_t>(1, (mebibytes << 20) / kTensorBytes);
  write_file(path, dtype, element, tensors);
  const double gigabytes = static_cast<double>(tensors * kTensorBytes) * 1e-9;
  size_t findings = 0;
  const double plain = best_seconds([&] { read_plainly(path); });
  const double scanned = best_seconds([&] { findings = checkpoint::scan(path).findings.size(); });
  std::printf("%-8s %6lld %8.2f %8.2f %9zu %9.1f\n", dtype.c_str(),
              static_cast<long long>(mebibytes), gigabytes / plain, gigabytes / scanned, findings,
              peak_mebibytes());
  fs::remove(path);
}

}  // namespace
}  // namespace nanhunt

int main(int count, char** words) {
  std::vector<int64_t> sizes;
  for (int i = 1; i < count; ++i) sizes.push_back(std::atoll(words[i]));
  if (sizes.empty()) sizes = {256, 2048};
  std::printf(
      "GB/s of processor time from the page cache, one thread; peak memory of this process\n");
  std::printf("%-8s %6s %8s %8s %9s %9s\n", "type", "MiB", "plain", "scan", "findings", "peak_MiB");
  for (const int64_t size : sizes) {
    nanhunt::measure("BF16", 2, size);
    nanhunt::measure("F32", 4, size);
    nanhunt::measure("F16", 2, size);
  }
  return 0;
}
