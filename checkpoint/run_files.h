// SPDX-License-Identifier: Apache-2.0
// What lies beside the tensors of a Hugging Face checkpoint and says which run and which step it is
// of: trainer_state.json and config.json. Neither is state; both say whether two states can be of
// one run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nanhunt::checkpoint {

struct TrainerState {
  std::optional<int64_t> step;  // "global_step": updates made
  std::optional<double> epoch;
  std::vector<std::pair<int64_t, double>> loss;  // "log_history": step, loss; NaN where it was
};

// Of a checkpoint's folder, or of the folder that its file is in; nullopt where there is none.
// Throws Error(kUnreadable), one line with the file, where it is no such JSON.
std::optional<TrainerState> read_trainer_state(const std::filesystem::path& checkpoint);

// Keys of config.json with their values as JSON, nested ones as "rope_scaling.factor". Left out is
// what says nothing about the model: names, versions, the type that it was saved in. Empty where
// there is none; errors as above.
std::map<std::string, std::string> read_config(const std::filesystem::path& checkpoint);

}  // namespace nanhunt::checkpoint
