// SPDX-License-Identifier: Apache-2.0
// Values as they stand in the golden file and in results: 64-bit words in hexadecimal digits, NaN
// and Inf as strings, which JSON has no numbers for.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "trace/fingerprint.h"

namespace nanhunt::golden {

std::string hex(uint64_t word);  // 16 digits
nlohmann::json number_json(double value);
nlohmann::json sketch_json(const trace::Sketch& sketch);  // FP64 bits, bucket by bucket

// The way back. Throw std::exception on anything else.
uint64_t word_from(const nlohmann::json& json);
double number_from(const nlohmann::json& json);
trace::Sketch sketch_from(const nlohmann::json& json);

}  // namespace nanhunt::golden
