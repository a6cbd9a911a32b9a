// SPDX-License-Identifier: Apache-2.0
#include "hooks/poison.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <cstring>
#include <mutex>

namespace nanhunt::hooks {
namespace {

class PoisoningAllocator final : public c10::Allocator {
 public:
  explicit PoisoningAllocator(c10::Allocator* inner) : inner_(inner) {}

  c10::DataPtr allocate(size_t bytes) override {
    c10::DataPtr memory = inner_->allocate(bytes);
    if (memory.get() != nullptr) std::memset(memory.get(), kPoisonByte, bytes);
    return memory;
  }
  c10::DeleterFnPtr raw_deleter() const override { return inner_->raw_deleter(); }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    inner_->copy_data(to, from, bytes);
  }

 private:
  c10::Allocator* inner_;
};

}  // namespace

void poison_allocations() {
  static std::once_flag once;
  std::call_once(once, [] {
    // Never deleted: tensors outlive every static object.
    static auto* allocator = new PoisoningAllocator(c10::GetCPUAllocator());
    c10::SetCPUAllocator(allocator, /*priority=*/255);
  });
}

}  // namespace nanhunt::hooks
