// SPDX-License-Identifier: Apache-2.0
// The one kind of World there is: a mapped SharedBlock, private to the process (ranks are threads)
// or a POSIX shared memory object (ranks are processes).
#pragma once

#include <string>

#include "cases/mini/communicator.h"
#include "cases/mini/shared_block.h"

namespace nanhunt::mini {

class MappedWorld : public World {
 public:
  // `owned_name`: the shared memory object that the destructor unlinks, or "".
  MappedWorld(void* memory, size_t bytes, std::string owned_name);
  ~MappedWorld() override;
  MappedWorld(const MappedWorld&) = delete;
  MappedWorld& operator=(const MappedWorld&) = delete;

  int size() const override { return block().world_size; }
  void abort(const std::string& why) override { abort_block(block(), why); }

  SharedBlock& block() const { return *static_cast<SharedBlock*>(memory_); }

 private:
  void* memory_;
  size_t bytes_;
  std::string owned_name_;
};

}  // namespace nanhunt::mini
