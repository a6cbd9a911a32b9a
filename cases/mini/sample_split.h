// SPDX-License-Identifier: Apache-2.0
// Which samples of the global batch a data-parallel rank takes, and in which microbatch:
// consecutive ones, microbatch after microbatch.
#pragma once

#include <cstdint>

#include "cases/mini/config.h"

namespace nanhunt::mini {

inline int64_t samples_per_microbatch(const Config& config) {
  return config.global_batch / (config.dp * config.microbatches);
}

// Position in the global batch.
inline int64_t first_sample(const Config& config, int64_t dp_rank, int64_t microbatch) {
  return (dp_rank * config.microbatches + microbatch) * samples_per_microbatch(config);
}

}  // namespace nanhunt::mini
