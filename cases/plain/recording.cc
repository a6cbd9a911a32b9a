// SPDX-License-Identifier: Apache-2.0
#include "cases/plain/recording.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <memory>

namespace nanhunt::plain {
namespace {

hooks::TapPoint tap_point(const Point& point, const std::vector<int64_t>& shape) {
  hooks::TapPoint result;
  result.site = point.site;
  result.phase = point.phase;
  result.role = point.role;
  result.microbatch = point.in_microbatch ? 0 : -1;
  result.placement = std::make_shared<const trace::Placement>(trace::whole(point.axes, shape));
  result.op = point.op;
  result.attributes = point.attributes;
  return result;
}

}  // namespace

void show(hooks::RankTaps& taps, const Point& point, Tensor& tensor, const Sources& from) {
  std::vector<int64_t> links;
  for (const Tensor* source : from) {
    links.insert(links.end(), source->records.begin(), source->records.end());
  }
  hooks::TapPoint place = tap_point(point, tensor.shape);
  place.rounded_to = point.dtype;
  const at::Tensor view = at::from_blob(tensor.values.data(), tensor.shape, at::kFloat);
  const at::Tensor tapped = taps.tap(place, view, links);
  if (!tapped.is_same(view)) {
    const at::Tensor noisy = tapped.contiguous();
    std::copy_n(noisy.data_ptr<float>(), tensor.size(), tensor.values.begin());
  }
  tensor.records = taps.carried(tapped);
}

std::vector<int64_t> show_scalar(hooks::RankTaps& taps, const Point& point, double value,
                                 const std::vector<int64_t>& from) {
  const int64_t record = taps.scalar(tap_point(point, {}), value, from);
  return record < 0 ? from : std::vector<int64_t>{record};
}

void show_tokens(hooks::RankTaps& taps, const std::string& role, std::vector<int64_t>& values,
                 const std::vector<int64_t>& shape) {
  const Point point{"data", trace::Phase::kForward, role, {"sample", "token"}};
  taps.tap(tap_point(point, shape), at::from_blob(values.data(), shape, at::kLong), {});
}

void show_mask(hooks::RankTaps& taps, const Point& point, std::vector<uint8_t>& values,
               const std::vector<int64_t>& shape) {
  taps.tap(tap_point(point, shape), at::from_blob(values.data(), shape, at::kBool), {});
}

}  // namespace nanhunt::plain
