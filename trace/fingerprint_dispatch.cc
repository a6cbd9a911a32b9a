// SPDX-License-Identifier: Apache-2.0
#include "trace/fingerprint_kernel.h"

namespace nanhunt::trace {

RunKernel best_kernel(DType dtype) { return portable_kernel(dtype); }

std::string_view fingerprint_version() { return "portable"; }

}  // namespace nanhunt::trace
