// SPDX-License-Identifier: Apache-2.0
// The scan of a checkpoint: one pass over every tensor of every file, then the rules. Memory: the
// headers, some hundred bytes a tensor, and one window; it does not grow with the data.
#pragma once

#include <filesystem>
#include <functional>

#include "checkpoint/layout.h"
#include "checkpoint/report.h"
#include "checkpoint/rules_file.h"

namespace nanhunt::checkpoint {

struct ScanOptions {
  std::filesystem::path before;  // an older checkpoint of the same run; "" = none
  RulesFile rules;
  // Called before each file: its name, files done and in all.
  std::function<void(const std::string& file, int done, int total)> progress;
};

// Of checkpoints that are open; `before` nullptr: none. `name`: of the report. Findings that the
// caller has already, of the surest rules, go before the others.
Report scan(const std::string& name, const Checkpoint& now, const Checkpoint* before,
            const ScanOptions& options, std::vector<Finding> known = {});

// Throws trace::Error as open_checkpoint and TensorData do: there is no verdict on half the data.
Report scan(const std::filesystem::path& checkpoint, const ScanOptions& options = {});

}  // namespace nanhunt::checkpoint
