// SPDX-License-Identifier: Apache-2.0
#include "oracle/rules/parts_of_result.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>

#include "oracle/rules/rule_tools.h"
#include "trace/region_runs.h"

namespace nanhunt::oracle {
namespace {

using trace::Record;
using trace::Run;

int64_t product_of(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

// A flat placement may name the tensor by its shape or by its length.
bool are_of_one_tensor(const trace::Placement& a, const trace::Placement& b) {
  if (a.flat || b.flat) return product_of(a.logical_shape) == product_of(b.logical_shape);
  return a.logical_shape == b.logical_shape;
}

std::vector<Run> runs_of(const Record& record) {
  std::vector<Run> runs;
  for (const trace::Region& region : record.placement->regions) {
    trace::for_each_run(*record.placement, record.local_shape, region, 0,
                        std::numeric_limits<int64_t>::max(),
                        [&](const Run& run) { runs.push_back(run); });
  }
  return runs;
}

// The runs of an operand, to be found by the logical element.
class Runs {
 public:
  explicit Runs(const Record& record) : runs_(runs_of(record)) {
    std::ranges::sort(runs_, {}, key_of);
  }

  bool overlap() const {
    for (size_t i = 1; i < runs_.size(); ++i) {
      const Run &a = runs_[i - 1], &b = runs_[i];
      if (a.stride == b.stride && a.logical % a.stride == b.logical % b.stride &&
          b.logical < a.logical + a.length * a.stride)
        return true;
    }
    return false;
  }

  // The part of a result's run that begins at its element `from`, as far as one run of the operand
  // goes; of length 0 when none has it.
  Part part_at(const Run& run, int64_t from) const {
    const int64_t logical = run.logical + from * run.stride;
    const auto behind = std::ranges::upper_bound(
        runs_, std::tuple(run.stride, logical % run.stride, logical), {}, key_of);
    Part part{run.local + from, 0, 0};
    if (behind == runs_.begin()) return part;
    const Run& found = *std::prev(behind);
    if (found.stride != run.stride || found.logical % run.stride != logical % run.stride)
      return part;
    const int64_t offset = (logical - found.logical) / run.stride;
    part.operand = found.local + offset;
    part.length = std::max<int64_t>(0, std::min(found.length - offset, run.length - from));
    return part;
  }

 private:
  static std::tuple<int64_t, int64_t, int64_t> key_of(const Run& run) {
    return {run.stride, run.logical % run.stride, run.logical};
  }

  std::vector<Run> runs_;
};

}  // namespace

std::optional<std::vector<Part>> parts_of_result(const Record& operand, const Record& result) {
  if (operand.local_shape == result.local_shape)
    return std::vector{Part{0, 0, product_of(result.local_shape)}};
  if (!is_placed(&operand) || !is_placed(&result) ||
      !are_of_one_tensor(*operand.placement, *result.placement))
    return std::nullopt;
  const Runs runs(operand);
  if (runs.overlap()) return std::nullopt;
  std::vector<Part> parts;
  for (const Run& run : runs_of(result)) {
    for (int64_t done = 0; done < run.length; done += parts.back().length) {
      parts.push_back(runs.part_at(run, done));
      if (parts.back().length == 0) return std::nullopt;
    }
  }
  std::ranges::sort(parts, {}, &Part::result);
  return parts;
}

}  // namespace nanhunt::oracle
