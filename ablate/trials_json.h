// SPDX-License-Identifier: Apache-2.0
// The trials of an ablation as JSON, schema in docs/verdict.md: `trials`, an array of {trial,
// result, reason, seconds}, as verdict.json of a hunt and `nanhunt ablate --json` hold it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "ablate/hunt.h"

namespace nanhunt::ablate {

std::string_view name_of(TrialResult result);  // "pass", "fail", "unresolved"
nlohmann::json to_json(const std::vector<TrialRow>& trials);
// The verdict, and beside its keys the trials, when there were any.
nlohmann::json to_json(const Hunt& hunt);
// Throws Error(kUnreadable): not what to_json wrote.
std::vector<TrialRow> trials_from_json(const nlohmann::json& json);

}  // namespace nanhunt::ablate
