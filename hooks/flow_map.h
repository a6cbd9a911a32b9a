// SPDX-License-Identifier: Apache-2.0
// Which records a tensor's memory carries: per storage, the sequence numbers of the records whose
// values went into it. One map per rank. Storages are held weakly; the map is emptied at each step,
// since a sequence number means something within its step only.
//
// A storage may hold several tensors (q, k and v of one fused product, a parameter's place in a
// gradient bucket). Each such view that was recorded or written on its own has a set of its own;
// any other view carries the sets of all views that it may overlap, so links are at worst too many.
// A set holds at most kMaxCarried numbers, the latest ones. Beside it goes what rounding may have
// done to the values since those records.
//
// Thread safe: the rank's compute thread and its communication thread may both call.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace nanhunt::hooks {

inline constexpr size_t kMaxCarried = 64;
using CarriedSet = std::vector<int64_t>;  // sorted, no repeats

struct Carried {
  CarriedSet records;
  // Square of the relative error by rounding since those records: the sum of the squares of the
  // unit roundoffs of the ops in between.
  double rounding = 0;
};

// a becomes the union of both, cut to the latest kMaxCarried.
void merge_into(CarriedSet& a, const CarriedSet& b);
// Same, and the larger of the two errors.
void merge_into(Carried& a, const Carried& b);

// Bytes of a storage that a tensor covers: a box of strides, outermost first, without dimensions of
// size 1 and with contiguous dimensions merged, so that equal memory gives equal extents.
struct MemoryExtent {
  struct Dimension {
    int64_t size;
    int64_t stride;  // bytes
    bool operator==(const Dimension&) const = default;
  };
  int64_t start = 0;  // bytes from the storage's start
  int64_t end = 0;
  c10::SmallVector<Dimension, 4> dimensions;

  bool operator==(const MemoryExtent& other) const {
    return start == other.start && dimensions == other.dimensions;
  }
};

MemoryExtent memory_extent(const at::Tensor& tensor);
// False only when the two surely share no byte.
bool may_overlap(const MemoryExtent& a, const MemoryExtent& b);

class FlowMap {
 public:
  // What the tensor carries; empty for tensors without storage.
  Carried carried(const at::Tensor& tensor) const;
  // The tensor's memory was overwritten: it carries `set` and nothing else.
  void assign(const at::Tensor& tensor, const Carried& set);
  // The tensor's memory was changed in place: it carries `set` besides what it carried.
  void add(const at::Tensor& tensor, const Carried& set);

  void keep(const at::Tensor& tensor);
  void begin_step();
  size_t size() const;

  // The map that ops of this thread write to; nullptr when there is none.
  static FlowMap* of_this_thread();
  static void bind_to_this_thread(std::shared_ptr<FlowMap> map);
  // The owner is gone: threads still bound to it stop writing.
  void close();

 private:
  struct Part {
    MemoryExtent extent;
    Carried set;
  };
  struct Entry {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;  // holds the address, so it is never reused
    bool kept = false;
    Carried whole;
    std::vector<Part> parts;
  };
  Entry& entry_of(const at::Tensor& tensor);

  mutable std::mutex mutex_;
  std::unordered_map<const c10::StorageImpl*, Entry> entries_;
  std::atomic<bool> open_{true};
};

}  // namespace nanhunt::hooks
