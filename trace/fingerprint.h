// SPDX-License-Identifier: Apache-2.0
// Statistics and the three fingerprints of a local tensor, in one pass. Exact definitions and test
// vectors: docs/trace_format.md. Portable, AVX2 and AVX-512 versions are chosen at run time;
// counts, min, max and digests agree to the bit, FP64 sums and sketches to rounding of their order.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/dtype.h"
#include "trace/placement.h"
#include "trace/statistics.h"

namespace nanhunt::trace {

inline constexpr int kSketchBuckets = 64;
using Sketch = std::array<double, kSketchBuckets>;

// Fingerprints of one region, indexed by the *logical* position, so that disjoint regions add up
// (modulo 2^64, and as vectors of sums) to those of the logical tensor.
struct RegionPrint {
  uint64_t value_digest = 0;  // canonical values: widened, -0 folded, one NaN
  uint64_t mask_digest = 0;   // logical positions of the non-finite values; 0 when all are finite
  double sum_squares = 0;     // of the finite values
  Sketch sketch{};            // count sketch; non-finite values count as 0

  bool masked() const { return mask_digest != 0; }
};

struct Prints {
  Statistics statistics;
  uint64_t raw_digest = 0;                // bits with local index, all cells
  std::vector<uint64_t> segment_digests;  // raw digest of each segment, local index from its start
  std::vector<RegionPrint> regions;       // one per region of the placement
};

// A tensor in memory; not owned. Strides in elements, any order, zero allowed.
struct TensorView {
  const void* data = nullptr;
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;

  int64_t numel() const;
  bool contiguous() const;
};

TensorView contiguous_view(const void* data, DType dtype, std::vector<int64_t> shape);

struct PrintOptions {
  int segments = 0;       // equal pieces of the flattened local tensor that get a raw digest each
  int segment_dim = 0;    // dimension that is cut
  bool portable = false;  // force the portable version (tests)
};

// The pass. An unknown placement gives statistics and raw digest only.
Prints fingerprint(const TensorView& tensor, const Placement& placement,
                   const PrintOptions& options = {});

// Sum of prints of disjoint regions.
RegionPrint add(const RegionPrint& a, const RegionPrint& b);
// Estimate of the Euclidean norm of the vector whose sketch this is (10-20 % error, fingerprints).
double sketch_norm(const Sketch& sketch);
double sketch_dot(const Sketch& a, const Sketch& b);
Sketch subtract(const Sketch& a, const Sketch& b);
// "avx512", "avx2" or "portable": the version that fingerprint() uses here.
std::string_view fingerprint_version();

}  // namespace nanhunt::trace
