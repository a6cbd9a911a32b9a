// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/world.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "trace/error.h"

namespace nanhunt::mini {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& name) {
  const std::string reason = std::strerror(errno);
  throw trace::Error(trace::ErrorKind::kInternal, what + " '" + name + "': " + reason);
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  ~FileDescriptor() {
    if (number_ >= 0) ::close(number_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

void* map(int file, size_t bytes, const std::string& name) {
  const int kind = file < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind | MAP_NORESERVE, file, 0);
  if (memory == MAP_FAILED) fail("cannot map the ranks' shared memory", name);
  return memory;
}

}  // namespace

MappedWorld::MappedWorld(void* memory, size_t bytes, std::string owned_name)
    : memory_(memory), bytes_(bytes), owned_name_(std::move(owned_name)) {}

MappedWorld::~MappedWorld() {
  if (!owned_name_.empty()) ::shm_unlink(owned_name_.c_str());
  ::munmap(memory_, bytes_);
}

std::unique_ptr<World> create_thread_world(int size, size_t bytes_per_rank) {
  const size_t bytes = block_bytes(size, bytes_per_rank);
  void* memory = map(-1, bytes, "threads");
  format_block(memory, size, bytes_per_rank);
  return std::make_unique<MappedWorld>(memory, bytes, "");
}

std::unique_ptr<World> create_process_world(const std::string& name, int size,
                                            size_t bytes_per_rank) {
  const size_t bytes = block_bytes(size, bytes_per_rank);
  const FileDescriptor file(::shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600));
  if (file.number() < 0) fail("cannot create the shared memory", name);
  if (::ftruncate(file.number(), static_cast<off_t>(bytes)) != 0) {
    ::shm_unlink(name.c_str());
    fail("cannot size the shared memory", name);
  }
  void* memory = map(file.number(), bytes, name);
  format_block(memory, size, bytes_per_rank);
  return std::make_unique<MappedWorld>(memory, bytes, name);
}

std::unique_ptr<World> attach_process_world(const std::string& name) {
  const FileDescriptor file(::shm_open(name.c_str(), O_RDWR, 0));
  struct stat facts = {};
  if (file.number() < 0 || ::fstat(file.number(), &facts) != 0) {
    fail("cannot attach to the shared memory", name);
  }
  const auto bytes = static_cast<size_t>(facts.st_size);
  auto world = std::make_unique<MappedWorld>(map(file.number(), bytes, name), bytes, "");
  // The last rank to attach removes the name: from then on no death leaves the object behind.
  const auto size = static_cast<uint32_t>(world->size());
  if (world->block().attached.fetch_add(1) + 1 == size) ::shm_unlink(name.c_str());
  return world;
}

}  // namespace nanhunt::mini
