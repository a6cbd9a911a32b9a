// SPDX-License-Identifier: Apache-2.0
// Copies a strided tensor into a packed array, in local order (last dimension fastest).
#pragma once

#include <cstddef>
#include <vector>

#include "trace/fingerprint.h"

namespace nanhunt::hooks {

int64_t packed_bytes(const trace::TensorView& tensor);
std::vector<std::byte> pack_values(const trace::TensorView& tensor);

}  // namespace nanhunt::hooks
