// SPDX-License-Identifier: Apache-2.0
#include "trace/fingerprint.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>

#include "trace/check.h"
#include "trace/error.h"
#include "trace/fingerprint_kernel.h"
#include "trace/fingerprint_plan.h"
#include "trace/fingerprint_raw.h"

namespace nanhunt::trace {
namespace {

constexpr int64_t kPieceElements = 4096;  // of a run: what is hashed raw is still in the cache

// Rounding and flush-to-zero modes belong to the thread that calls; the pass must not depend on
// them.
class DefaultFloatMode {
 public:
#if defined(__SSE2__)
  DefaultFloatMode() : saved_(_mm_getcsr()) { _mm_setcsr(0x1F80); }
  ~DefaultFloatMode() { _mm_setcsr(saved_); }
#else
  DefaultFloatMode() = default;
  ~DefaultFloatMode() = default;
#endif
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  DefaultFloatMode& operator=(const DefaultFloatMode&) = delete;

 private:
#if defined(__SSE2__)
  unsigned saved_;
#endif
};

void run_walk(const TensorView& tensor, const Walk& walk, RunKernel kernel, RawStream& raw,
              Accumulator& sums) {
  const size_t size = size_of(tensor.dtype);
  alignas(64) std::byte gathered[kPieceElements * 8];
  for_each_run(walk, [&](int64_t local, int64_t logical, int64_t length, int64_t stride) {
    for (int64_t done = 0; done < length; done += kPieceElements) {
      const int64_t count = std::min(kPieceElements, length - done);
      const int64_t at = local + done * stride;
      const void* run =
          static_cast<const std::byte*>(tensor.data) + at * static_cast<int64_t>(size);
      if (stride == 1 || count == 1) {
        raw.cover(at + count);
      } else {
        gather(tensor.data, size, at, count, stride, gathered);
        run = gathered;
      }
      kernel(run, static_cast<uint64_t>(logical + done), static_cast<uint64_t>(count), sums);
    }
  });
}

// The coherence that memory safety needs; regions that overlap would count cells twice.
void require_coherent(const TensorView& tensor, const Placement& placement) {
  const std::string fault = placement_fault(placement, tensor.shape);
  if (!fault.empty()) throw Error(ErrorKind::kUsage, "placement does not fit the tensor: " + fault);
}

}  // namespace

int64_t TensorView::numel() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

bool TensorView::contiguous() const {
  if (numel() == 0) return true;
  int64_t expected = 1;
  for (size_t d = shape.size(); d > 0; --d) {
    if (shape[d - 1] == 1) continue;
    if (strides[d - 1] != expected) return false;
    expected *= shape[d - 1];
  }
  return true;
}

TensorView contiguous_view(const void* data, DType dtype, std::vector<int64_t> shape) {
  std::vector<int64_t> strides = row_major_strides(shape);
  return {data, dtype, std::move(shape), std::move(strides)};
}

Prints fingerprint(const TensorView& tensor, const Placement& placement,
                   const PrintOptions& options) {
  NANHUNT_CHECK(tensor.shape.size() == tensor.strides.size());
  if (placement.flat && !tensor.contiguous()) {
    const std::vector<std::byte> packed = pack(tensor);
    return fingerprint(contiguous_view(packed.data(), tensor.dtype, tensor.shape), placement,
                       options);
  }
  const RunKernel kernel =
      options.portable ? portable_kernel(tensor.dtype) : best_kernel(tensor.dtype);
  const DefaultFloatMode mode;
  RawStream raw(tensor);
  Prints prints;
  if (is_unknown(placement)) {
    Accumulator sums;
    run_walk(tensor, walk_all(tensor), kernel, raw, sums);
    prints.statistics = fold(sums, nullptr);
  } else {
    require_coherent(tensor, placement);
    prints.statistics = fold(Accumulator(), nullptr);
    prints.regions.resize(placement.regions.size());
    for (size_t i = 0; i < placement.regions.size(); ++i) {
      Accumulator sums;
      run_walk(tensor, walk_region(tensor, placement, placement.regions[i]), kernel, raw, sums);
      prints.statistics = merge(prints.statistics, fold(sums, &prints.regions[i]));
    }
    prints.statistics.padding = static_cast<uint64_t>(tensor.numel()) - prints.statistics.count;
  }
  prints.raw_digest = raw.finish();
  prints.segment_digests = segment_digests(tensor, options.segments, options.segment_dim);
  return prints;
}

RegionPrint add(const RegionPrint& a, const RegionPrint& b) {
  RegionPrint sum;
  sum.value_digest = a.value_digest + b.value_digest;
  sum.mask_digest = a.mask_digest + b.mask_digest;
  sum.sum_squares = a.sum_squares + b.sum_squares;
  for (int j = 0; j < kSketchBuckets; ++j) sum.sketch[j] = a.sketch[j] + b.sketch[j];
  return sum;
}

double sketch_norm(const Sketch& sketch) { return std::sqrt(sketch_dot(sketch, sketch)); }

double sketch_dot(const Sketch& a, const Sketch& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

Sketch subtract(const Sketch& a, const Sketch& b) {
  Sketch difference;
  std::transform(a.begin(), a.end(), b.begin(), difference.begin(), std::minus<>());
  return difference;
}

}  // namespace nanhunt::trace
