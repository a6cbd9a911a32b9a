// SPDX-License-Identifier: Apache-2.0
#include "hooks/flow_map.h"

#include <algorithm>

namespace nanhunt::hooks {
namespace {

thread_local std::shared_ptr<FlowMap> bound_map;

const c10::StorageImpl* storage_of(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage()) return nullptr;
  return tensor.storage().unsafeGetStorageImpl();
}

bool covers_storage(const at::Tensor& tensor) {
  return tensor.storage_offset() == 0 && tensor.is_non_overlapping_and_dense() &&
         static_cast<size_t>(tensor.numel()) * tensor.itemsize() >= tensor.storage().nbytes();
}

}  // namespace

void merge_into(CarriedSet& a, const CarriedSet& b) {
  if (b.empty()) return;
  if (a.empty()) {
    a = b;
    return;
  }
  CarriedSet merged;
  merged.reserve(a.size() + b.size());
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(merged));
  if (merged.size() > kMaxCarried) merged.erase(merged.begin(), merged.end() - kMaxCarried);
  a = std::move(merged);
}

void merge_into(Carried& a, const Carried& b) {
  merge_into(a.records, b.records);
  a.rounding = std::max(a.rounding, b.rounding);
}

MemoryExtent memory_extent(const at::Tensor& tensor) {
  MemoryExtent extent;
  const int64_t item = static_cast<int64_t>(tensor.itemsize());
  extent.start = tensor.storage_offset() * item;
  extent.end = extent.start + (tensor.numel() > 0 ? item : 0);
  c10::SmallVector<MemoryExtent::Dimension, 6> sorted;
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.size(d) != 1) sorted.push_back({tensor.size(d), tensor.stride(d) * item});
    if (tensor.numel() > 0) extent.end += (tensor.size(d) - 1) * tensor.stride(d) * item;
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.stride > b.stride; });
  sorted.push_back({item, 1});
  for (const MemoryExtent::Dimension& inner : sorted) {
    auto& merged = extent.dimensions;
    if (!merged.empty() && merged.back().stride == inner.size * inner.stride) {
      merged.back() = {merged.back().size * inner.size, inner.stride};
    } else {
      merged.push_back(inner);
    }
  }
  return extent;
}

bool may_overlap(const MemoryExtent& a, const MemoryExtent& b) {
  if (a.end <= b.start || b.end <= a.start) return false;
  if (a.dimensions.size() != b.dimensions.size()) return true;
  for (size_t d = 0; d < a.dimensions.size(); ++d) {
    if (a.dimensions[d].stride != b.dimensions[d].stride || a.dimensions[d].stride == 0)
      return true;
  }
  // Equal strides: both are boxes of one grid, when no dimension wraps into the next outer one.
  int64_t rest_a = a.start, rest_b = b.start;
  bool disjoint = false;
  for (size_t d = 0; d < a.dimensions.size(); ++d) {
    const int64_t stride = a.dimensions[d].stride;
    const int64_t from_a = rest_a / stride, from_b = rest_b / stride;
    rest_a %= stride;
    rest_b %= stride;
    const int64_t to_a = from_a + a.dimensions[d].size, to_b = from_b + b.dimensions[d].size;
    if (d > 0) {
      const int64_t outer = a.dimensions[d - 1].stride;
      if (outer % stride != 0 || std::max(to_a, to_b) > outer / stride) return true;
    }
    disjoint = disjoint || to_a <= from_b || to_b <= from_a;
  }
  return !disjoint;
}

Carried FlowMap::carried(const at::Tensor& tensor) const {
  const c10::StorageImpl* storage = storage_of(tensor);
  if (storage == nullptr) return {};
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(storage);
  if (found == entries_.end()) return {};
  const Entry& entry = found->second;
  Carried set = entry.whole;
  if (entry.parts.empty()) return set;
  const MemoryExtent extent = memory_extent(tensor);
  for (const Part& part : entry.parts) {
    if (part.extent == extent) return part.set;
    if (may_overlap(part.extent, extent)) merge_into(set, part.set);
  }
  return set;
}

void FlowMap::assign(const at::Tensor& tensor, const Carried& set) {
  if (storage_of(tensor) == nullptr) return;
  std::lock_guard lock(mutex_);
  Entry& entry = entry_of(tensor);
  if (covers_storage(tensor)) {
    entry.whole = set;
    entry.parts.clear();
    return;
  }
  const MemoryExtent extent = memory_extent(tensor);
  bool known = false;
  for (Part& part : entry.parts) {
    if (part.extent == extent) {
      part.set = set;
      known = true;
    } else if (may_overlap(part.extent, extent)) {
      merge_into(part.set, set);
    }
  }
  if (!known) entry.parts.push_back({extent, set});
}

void FlowMap::add(const at::Tensor& tensor, const Carried& set) {
  if (set.records.empty() || storage_of(tensor) == nullptr) return;
  if (!covers_storage(tensor)) {
    Carried all = carried(tensor);
    merge_into(all, set);
    assign(tensor, all);
    return;
  }
  std::lock_guard lock(mutex_);
  Entry& entry = entry_of(tensor);
  merge_into(entry.whole, set);
  for (Part& part : entry.parts) merge_into(part.set, set);
}

FlowMap::Entry& FlowMap::entry_of(const at::Tensor& tensor) {
  const c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
  const auto found = entries_.find(storage);
  if (found != entries_.end()) return found->second;
  return entries_.emplace(storage, Entry{tensor.storage().getWeakStorageImpl(), false, {}, {}})
      .first->second;
}

void FlowMap::keep(const at::Tensor& tensor) {
  if (storage_of(tensor) == nullptr) return;
  std::lock_guard lock(mutex_);
  entry_of(tensor).kept = true;
}

void FlowMap::begin_step() {
  std::lock_guard lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (entry->second.kept && !entry->second.storage.expired()) {
      entry->second.whole = {};
      entry->second.parts.clear();
      ++entry;
    } else {
      entry = entries_.erase(entry);
    }
  }
}

size_t FlowMap::size() const {
  std::lock_guard lock(mutex_);
  return entries_.size();
}

FlowMap* FlowMap::of_this_thread() {
  FlowMap* map = bound_map.get();
  return map != nullptr && map->open_.load(std::memory_order_relaxed) ? map : nullptr;
}

void FlowMap::bind_to_this_thread(std::shared_ptr<FlowMap> map) {
  bound_map = std::move(map);
}

void FlowMap::close() {
  open_ = false;
  std::lock_guard lock(mutex_);
  entries_.clear();
}

}  // namespace nanhunt::hooks
