// SPDX-License-Identifier: Apache-2.0
// Element types of the safetensors format, all that its version 0.8 knows, and how the pass reads
// them: as elements of a trace::DType of the same bits, or as plain bytes where there is none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/dtype.h"

namespace nanhunt::checkpoint {

struct ElementType {
  std::string_view name;  // as the format spells it: BF16, F8_E4M3, ...
  int bits = 0;
  // U16, U32 and U64 are read as the signed type, C64 as two FP32, the types without a trace::DType
  // as bytes.
  trace::DType view = trace::DType::kUInt8;
  bool floating = false;
  int nan_code = -1;   // types read as bytes: the one code that is NaN (F8_E8M0: 255); -1: none is
  bool coded = false;  // floating, but read as bytes: values are codes, zero and sign unknown

  // Elements of `view` in one element (C64: 2). Types of less than a byte: meaningless.
  int views() const { return bits / static_cast<int>(8 * trace::size_of(view)); }
};

// nullptr when the format has no such type.
const ElementType* element_type(std::string_view name);

// Element `index` as a number and in words: 0.5 as "0.5", a code as "code 255", the imaginary part
// of a complex element after its real part. `data` holds the packed elements from element 0 on.
struct Number {
  double value = 0;  // of a complex element the real part; of a code the code
  std::string text;
};
Number number_at(const ElementType& type, const void* data, int64_t index);
// NaN or Inf, in either part of a complex element. Types of less than a byte hold neither.
bool non_finite_at(const ElementType& type, const void* data, int64_t index);

}  // namespace nanhunt::checkpoint
