// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "capsule/load.h"
#include "trace/check.h"
#include "trace/error.h"
#include "trace/file_bytes.h"

namespace nanhunt::checkpoint {
namespace {

using nlohmann::json;
static_assert(std::endian::native == std::endian::little, "the format's numbers are little-endian");

constexpr int kLengthBytes = 8;
constexpr int kMaxDepth = 3;  // header, tensor, shape

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& reason) {
  throw trace::Error(trace::ErrorKind::kUnreadable, path.string() + ": " + reason);
}

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& tensor,
                       const std::string& reason) {
  fail(path, "tensor " + tensor + ": " + reason);
}

std::string bytes_text(int64_t bytes) {
  return std::to_string(bytes) + " bytes";
}

// json::parse keeps the last of two equal keys; which of them the writer meant nobody knows.
json parse_without_duplicates(const std::filesystem::path& path, const std::string& text) {
  std::vector<std::set<std::string>> keys;
  const json::parser_callback_t watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > kMaxDepth) fail(path, "the header is nested deeper than the format allows");
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key) {
      const auto key = parsed.get<std::string>();
      if (!keys.back().insert(key).second) fail(path, "the header has the key " + key + " twice");
    }
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::exception& error) {
    fail(path, "the header is no valid JSON");
  }
}

std::map<std::string, std::string> metadata_of(const std::filesystem::path& path,
                                               const json& value) {
  if (!value.is_object()) fail(path, "__metadata__ is no object");
  std::map<std::string, std::string> metadata;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) fail(path, "__metadata__: the value of " + key + " is no text");
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

int64_t whole_number(const std::filesystem::path& path, const std::string& tensor,
                     const json& value, const std::string& what) {
  const bool fits = value.is_number_unsigned() && value.get<uint64_t>() <= INT64_MAX;
  if (!fits) fail(path, tensor, what + " holds " + value.dump() + ", no whole number from 0");
  return value.get<int64_t>();
}

const json& field_of(const std::filesystem::path& path, const std::string& tensor,
                     const json& value, const char* key) {
  if (!value.contains(key)) fail(path, tensor, "\"" + std::string(key) + "\" is missing");
  return value.at(key);
}

void read_shape(const std::filesystem::path& path, const json& value, TensorEntry* tensor) {
  const json& shape = field_of(path, tensor->name, value, "shape");
  if (!shape.is_array()) fail(path, tensor->name, "\"shape\" is no list");
  tensor->elements = 1;
  bool overflow = false;
  for (const json& size : shape) {
    tensor->shape.push_back(whole_number(path, tensor->name, size, "\"shape\""));
    overflow |= __builtin_mul_overflow(tensor->elements, tensor->shape.back(), &tensor->elements);
  }
  int64_t bits = 0;
  overflow |= __builtin_mul_overflow(tensor->elements, int64_t{tensor->type->bits}, &bits);
  if (overflow)
    fail(path, tensor->name, "shape " + capsule::shape_text(tensor->shape) + " is too large");
  if (bits % 8 != 0) {
    fail(path, tensor->name,
         std::to_string(tensor->elements) + " elements of " + std::string(tensor->type->name) +
             " fill no whole number of bytes");
  }
  tensor->bytes = bits / 8;
}

TensorEntry read_entry(const std::filesystem::path& path, const std::string& name,
                       const json& value) {
  if (!value.is_object()) fail(path, name, "its entry is no object");
  TensorEntry tensor;
  tensor.name = name;
  const json& dtype = field_of(path, name, value, "dtype");
  if (!dtype.is_string()) fail(path, name, "\"dtype\" is no text");
  tensor.type = element_type(dtype.get<std::string>());
  if (tensor.type == nullptr) fail(path, name, "unknown dtype " + dtype.dump());
  read_shape(path, value, &tensor);
  const json& offsets = field_of(path, name, value, "data_offsets");
  if (!offsets.is_array() || offsets.size() != 2) {
    fail(path, name, "\"data_offsets\" are not two numbers");
  }
  const int64_t begin = whole_number(path, name, offsets[0], "\"data_offsets\"");
  const int64_t end = whole_number(path, name, offsets[1], "\"data_offsets\"");
  if (end < begin || end - begin != tensor.bytes) {
    fail(path, name,
         "data_offsets " + capsule::shape_text({begin, end}) + " do not fit " +
             std::string(tensor.type->name) + " of shape " + capsule::shape_text(tensor.shape) +
             ", " + bytes_text(tensor.bytes));
  }
  tensor.offset = begin;
  return tensor;
}

// Every byte of the data belongs to exactly one tensor.
void require_tiling(const std::filesystem::path& path, const std::vector<TensorEntry>& tensors,
                    int64_t data_bytes) {
  int64_t covered = 0;
  for (const TensorEntry& tensor : tensors) {
    const std::string place = "its data begin at byte " + std::to_string(tensor.offset) +
                              ", those before it end at " + std::to_string(covered);
    if (tensor.offset < covered) fail(path, tensor.name, "overlaps another tensor: " + place);
    if (tensor.offset > covered) fail(path, tensor.name, "a hole before it: " + place);
    if (tensor.bytes > data_bytes - tensor.offset) {
      fail(path, tensor.name,
           "reaches out of the file: its data end at byte " +
               std::to_string(tensor.offset + tensor.bytes) + " of " + bytes_text(data_bytes) +
               "; the file is truncated");
    }
    covered = tensor.offset + tensor.bytes;
  }
  if (covered != data_bytes) {
    fail(path, bytes_text(data_bytes - covered) + " behind the last tensor belong to none");
  }
}

int open_for_reading(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    fail(path, "cannot be opened: " + std::generic_category().message(errno));
  }
  return descriptor;
}

struct Descriptor {
  int number;
  ~Descriptor() { ::close(number); }
};

void read_exactly(const std::filesystem::path& path, int descriptor, void* out, size_t size,
                  int64_t offset, const std::string& what) {
  const ssize_t got = trace::read_at(descriptor, out, size, offset);
  if (got < 0) fail(path, "cannot be read: " + std::generic_category().message(errno));
  if (static_cast<size_t>(got) != size) fail(path, "truncated: " + what + " ends early");
}

}  // namespace

FileHeader parse_header(const std::filesystem::path& path, const std::string& text,
                        int64_t data_bytes) {
  const json document = parse_without_duplicates(path, text);
  if (!document.is_object()) fail(path, "the header is no JSON object");
  FileHeader header;
  header.path = path;
  const auto data_start = static_cast<int64_t>(kLengthBytes + text.size());
  header.file_bytes = data_start + data_bytes;
  for (const auto& [name, value] : document.items()) {
    if (name == "__metadata__") {
      header.metadata = metadata_of(path, value);
    } else {
      header.tensors.push_back(read_entry(path, name, value));
    }
  }
  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const TensorEntry& a, const TensorEntry& b) {
              return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
            });
  require_tiling(path, header.tensors, data_bytes);
  for (TensorEntry& tensor : header.tensors) tensor.offset += data_start;
  return header;
}

FileHeader read_header(const std::filesystem::path& path) {
  const Descriptor file{open_for_reading(path)};
  struct stat facts {};
  if (::fstat(file.number, &facts) != 0 || !S_ISREG(facts.st_mode)) fail(path, "is no file");
  const auto size = static_cast<int64_t>(facts.st_size);
  if (size == 0) fail(path, "is empty");
  if (size < kLengthBytes) fail(path, "truncated: " + bytes_text(size) + " hold no header");
  uint64_t length = 0;
  read_exactly(path, file.number, &length, sizeof length, 0, "the header's length");
  if (length > kMaxHeaderBytes) {
    fail(path, "no safetensors file: its header would be " + std::to_string(length) +
                   " bytes, more than the format's limit of " + std::to_string(kMaxHeaderBytes));
  }
  const auto header_bytes = static_cast<int64_t>(length);
  if (header_bytes > size - kLengthBytes) {
    fail(path, "truncated: a header of " + bytes_text(header_bytes) + " in a file of " +
                   bytes_text(size));
  }
  std::string text(length, '\0');
  read_exactly(path, file.number, text.data(), text.size(), kLengthBytes, "the header");
  return parse_header(path, text, size - kLengthBytes - header_bytes);
}

TensorData::TensorData(const FileHeader& header)
    : header_(header), descriptor_(header.read ? -1 : open_for_reading(header.path)) {}

TensorData::~TensorData() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void TensorData::read(const TensorEntry& tensor, int64_t start, std::span<std::byte> out) const {
  NANHUNT_CHECK(start >= 0 && start + static_cast<int64_t>(out.size()) <= tensor.bytes);
  if (header_.read) return header_.read(tensor, start, out);
  read_exactly(header_.path, descriptor_, out.data(), out.size(), tensor.offset + start,
               "tensor " + tensor.name);
}

std::vector<int64_t> place_of(const TensorEntry& tensor, int64_t index) {
  std::vector<int64_t> place(tensor.shape.size());
  for (size_t d = place.size(); d > 0; --d) {
    place[d - 1] = index % tensor.shape[d - 1];
    index /= tensor.shape[d - 1];
  }
  return place;
}

}  // namespace nanhunt::checkpoint
