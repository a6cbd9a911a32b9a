// SPDX-License-Identifier: Apache-2.0
#include "trace/text_heap.h"

#include <unistd.h>

#include <cstring>
#include <map>
#include <utility>

#include "trace/file_bytes.h"
#include "trace/h5.h"

namespace nanhunt::trace {
namespace {

using Bytes = std::vector<char>;

constexpr uint64_t kElement = 16, kCollectionHeader = 16, kObjectHeader = 16;

[[noreturn]] void fail(const std::string& what) {
  throw h5::Failure("cannot read table strings: " + what);
}

template <class Number>
Number number_at(const Bytes& bytes, uint64_t at) {
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

class Heap {
 public:
  explicit Heap(int descriptor)
      : descriptor_(descriptor), size_(static_cast<uint64_t>(lseek(descriptor, 0, SEEK_END))) {}

  Bytes read(uint64_t at, uint64_t count) const {
    if (at > size_ || count > size_ - at) fail("it points outside the file");
    Bytes bytes(count);
    const auto got = read_at(descriptor_, bytes.data(), count, static_cast<int64_t>(at));
    if (got < 0 || static_cast<uint64_t>(got) != count) fail("the file ends early");
    return bytes;
  }

  std::string text(uint64_t address, uint32_t index, uint32_t length) {
    const auto known = collections_.find(address);
    const Collection& collection = known != collections_.end()
                                       ? known->second
                                       : collections_.emplace(address, open(address)).first->second;
    const auto object = collection.objects.find(index);
    if (object == collection.objects.end()) fail("a text is not where it is said to be");
    const auto [at, size] = object->second;
    if (size != length) fail("a text is not as long as it is said to be");
    return {collection.bytes.data() + at, length};
  }

 private:
  struct Collection {
    Bytes bytes;
    std::map<uint32_t, std::pair<uint64_t, uint64_t>> objects;  // by index: place and size
  };

  Collection open(uint64_t address) const {
    const Bytes header = read(address, kCollectionHeader);
    const auto size = number_at<uint64_t>(header, 8);
    if (std::memcmp(header.data(), "GCOL\1", 5) != 0 || size < kCollectionHeader)
      fail("there is no text where it points to");
    Collection collection{read(address, size), {}};
    for (uint64_t at = kCollectionHeader; at + kObjectHeader <= size;) {
      const auto index = number_at<uint16_t>(collection.bytes, at);
      const auto length = number_at<uint64_t>(collection.bytes, at + 8);
      if (index == 0) break;
      if (length > size - at - kObjectHeader) fail("a text ends behind its collection");
      collection.objects[index] = {at + kObjectHeader, length};
      at += kObjectHeader + (length + 7) / 8 * 8;
    }
    return collection;
  }

  int descriptor_;
  uint64_t size_;
  std::map<uint64_t, Collection> collections_;
};

}  // namespace

std::vector<std::string> read_text_list(int descriptor, int64_t offset, size_t count) {
  Heap heap(descriptor);
  const Bytes list = heap.read(static_cast<uint64_t>(offset), count * kElement);
  std::vector<std::string> texts;
  texts.reserve(count);
  for (uint64_t at = 0; at < list.size(); at += kElement) {
    const auto length = number_at<uint32_t>(list, at);
    texts.push_back(length == 0 ? ""
                                : heap.text(number_at<uint64_t>(list, at + 4),
                                            number_at<uint32_t>(list, at + 12), length));
  }
  return texts;
}

}  // namespace nanhunt::trace
