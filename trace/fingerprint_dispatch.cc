// SPDX-License-Identifier: Apache-2.0
#include "trace/fingerprint_kernel.h"

namespace nanhunt::trace {
namespace {

enum class Version { kPortable, kAvx2, kAvx512 };

Version detect() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    return Version::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) return Version::kAvx2;
#endif
  return Version::kPortable;
}

Version version() {
  static const Version detected = detect();
  return detected;
}

}  // namespace

RunKernel best_kernel(DType dtype) {
  RunKernel kernel = nullptr;
  if (version() == Version::kAvx512) kernel = avx512_kernel(dtype);
  if (version() == Version::kAvx2) kernel = avx2_kernel(dtype);
  return kernel != nullptr ? kernel : portable_kernel(dtype);
}

std::string_view fingerprint_version() {
  switch (version()) {
    case Version::kAvx512: return "avx512";
    case Version::kAvx2: return "avx2";
    case Version::kPortable: break;
  }
  return "portable";
}

}  // namespace nanhunt::trace
