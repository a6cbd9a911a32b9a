// SPDX-License-Identifier: Apache-2.0
// The content of a golden file as JSON, and back. docs/golden.md has the schema.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "golden/golden.h"

namespace nanhunt::golden {

nlohmann::json to_json(const Golden& golden);
Golden golden_from_json(const nlohmann::json& json);  // throws std::exception on another form

}  // namespace nanhunt::golden
