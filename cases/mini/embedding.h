// SPDX-License-Identifier: Apache-2.0
// Embeddings. The word table is sharded over tp by vocabulary: each rank looks up the ids it owns,
// has zeros elsewhere, and the ranks' rows are summed. Learned positions are a replicated table.
#pragma once

#include <ATen/core/Tensor.h>

#include "cases/mini/parameters.h"

namespace nanhunt::mini {

struct Embedding {
  Parameter* words = nullptr;
  Parameter* positions = nullptr;  // none with rotary positions
};

// ids: int64 [tokens, samples]. Result: [tokens, samples, hidden], sharded over tokens under
// sequence parallelism.
at::Tensor embed(RankContext& context, const Embedding& embedding, const at::Tensor& ids);

}  // namespace nanhunt::mini
