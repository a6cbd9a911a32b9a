// SPDX-License-Identifier: Apache-2.0
#include "oracle/replay/poison.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "oracle/replay/tensor.h"

namespace nanhunt::oracle {
namespace {

constexpr int64_t kElementsAtOnce = int64_t{1} << 16;

// An element's bits, the lowest first.
using Bits = uint64_t;

// All ones in the low bytes of the type, and what narrower ones are once they are widened to FP32.
std::vector<Bits> poison_of(trace::DType type) {
  const size_t bytes = trace::size_of(type);
  std::vector<Bits> bits{bytes == sizeof(Bits) ? ~Bits{0} : (Bits{1} << (8 * bytes)) - 1};
  if (type == trace::DType::kFloat32) {
    constexpr Bits kBfloat16 = 0xffff0000, kFloat16 = 0xffffe000;
    bits.insert(bits.end(), {kBfloat16, kFloat16});
  }
  return bits;
}

}  // namespace

bool is_poisoned(const trace::TraceReader& reader, const trace::Record& record) {
  const trace::RunFacts* facts = reader.facts_of(record.where.rank);
  return facts != nullptr && facts->facts.contains("poison");
}

std::optional<int64_t> first_unwritten(const trace::TraceReader& reader,
                                       const trace::Record& record) {
  if (!record.has_values || !trace::is_floating(record.storage)) return std::nullopt;
  if (!is_poisoned(reader, record)) return std::nullopt;
  const size_t bytes = trace::size_of(record.storage);
  const auto poison = poison_of(record.storage);
  const int64_t elements = elements_of(record);
  std::vector<std::byte> raw;
  for (int64_t start = 0; start < elements; start += kElementsAtOnce) {
    const int64_t count = std::min(kElementsAtOnce, elements - start);
    raw.resize(static_cast<size_t>(count) * bytes);
    reader.read_values(record, start, count, raw);
    for (int64_t i = 0; i < count; ++i) {
      Bits bits = 0;
      std::memcpy(&bits, raw.data() + static_cast<size_t>(i) * bytes, bytes);
      if (std::ranges::find(poison, bits) != poison.end()) return start + i;
    }
  }
  return std::nullopt;
}

}  // namespace nanhunt::oracle
