// SPDX-License-Identifier: Apache-2.0
// The planted fault of a bundled case: section [fault], with layer, rank, microbatch, step and
// element drawn from a seed. Read by the check of the bundled cases alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace nanhunt::cli {

struct DrawnFault {
  std::string name;                        // "" when the case plants none
  std::map<std::string, int64_t> numbers;  // layer, rank, ...
};

// `KEY = draw A..B` draws from A to B inclusive; `KEY = N` is fixed. The draw of a key is
//   A + splitmix64(seed XOR fnv1a("CASE/KEY")) mod (B - A + 1),
// so it depends neither on the order of the keys nor on the other cases. Throws Error(kUsage).
DrawnFault read_fault(const std::filesystem::path& case_file, uint64_t seed);

uint64_t splitmix64(uint64_t state);
uint64_t fnv1a(const std::string& text);

// Writes the JSON file that the subject reads by NANHUNT_FAULT_FILE.
void write_fault_file(const DrawnFault& fault, const std::filesystem::path& path);
// "layer=2 step=1"
std::string describe(const DrawnFault& fault);

// Fills {KEY}, {KEY / N}, {KEY % N}, {KEY + N} and {KEY: word0 word1 ...} (the word at that index,
// counted around) with the drawn numbers. Throws Error(kUsage) on an unknown key.
std::string fill_in(const std::string& text, const std::map<std::string, int64_t>& numbers);

}  // namespace nanhunt::cli
