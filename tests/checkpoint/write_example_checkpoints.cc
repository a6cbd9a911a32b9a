// SPDX-License-Identifier: Apache-2.0
// write_example_checkpoints FOLDER [ROW]: the checkpoints that docs/checkpoints.md looks into. A
// Trainer's checkpoint with a NaN (in that row; 2 by default), a healthy older one of the same run,
// files by rank of which one differs, what a converter made of a model, and a truncated file.
#include <cstdlib>
#include <limits>
#include <string>

#include "tests/checkpoint/small_checkpoint.h"

namespace {

using namespace nanhunt::checkpoint::test;

constexpr int kLayers = 4;

void write_trainer(const fs::path& folder, int row) {
  Draft older = healthy_model(kLayers, 1), newer = healthy_model(kLayers, 700);
  add_states(&older, kLayers, 1, 1000);
  add_states(&newer, kLayers, 700, 1500);
  older.write(folder / "checkpoint-1000/model.safetensors");
  const DraftTensor& frozen = older.at("model.layers.3.self_attn.v_proj.weight");
  newer.add(frozen.name, frozen.dtype, frozen.shape, frozen.bytes);
  newer.set("model.layers.2.self_attn.k_proj.weight", 8 * row + 5,
            std::numeric_limits<float>::quiet_NaN());
  newer.write(folder / "checkpoint-1500/model.safetensors");
  for (const char* step : {"checkpoint-1000", "checkpoint-1500"}) {
    write_text(folder / step / "optimizer.pt", "");
    write_text(folder / step / "rng_state.pth", "");
  }
}

void write_ranks(const fs::path& folder) {
  for (uint32_t rank = 0; rank < 2; ++rank) {
    Draft draft;
    draft.random("model.layers.0.input_layernorm.weight", {8}, 1);
    draft.random("model.layers.0.self_attn.q_proj.weight", {8, 8}, 10 + rank);
    if (rank == 1) draft.set("model.layers.0.input_layernorm.weight", 3, 0.25f);
    draft.write(folder / "ranks" / ("rank-" + std::to_string(rank) + ".safetensors"));
  }
  write_text(folder / "copies.json",
             R"({"name": "copies", "replicated": ["**.input_layernorm.weight"]})"
             "\n");
}

void write_converted(const fs::path& folder) {
  Draft draft = healthy_model(kLayers, 1);
  for (const char* part : {"self_attn.k_proj.weight", "self_attn.v_proj.weight"}) {
    draft.copy("model.layers.1." + std::string(part), "model.layers.2." + std::string(part));
  }
  draft.filled("model.layers.3.self_attn.k_proj.weight", {8, 8}, 0.0f);
  draft.write(folder / "converted.safetensors");
  const std::string whole = draft.bytes();
  write_text(folder / "torn.safetensors", whole.substr(0, whole.size() - 100));
}

}  // namespace

int main(int count, char** words) {
  const fs::path folder = count > 1 ? words[1] : ".";
  write_trainer(folder, count > 2 ? std::atoi(words[2]) : 2);
  write_ranks(folder);
  write_converted(folder);
  return 0;
}
