// SPDX-License-Identifier: Apache-2.0
// Rules files: how names and regions of one program map to those of another, as data (JSON, format
// in docs/trace_format.md). One rule renames a site, role or weight by a pattern with captures, and
// may say that several sites of the source are regions of one site of the target (q, k, v of one
// program against the fused QKV of another) or that one site covers several.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "trace/trace_reader.h"

namespace nanhunt::trace {

// One place of the target that a source record becomes. Boxes in logical coordinates.
struct RegionMove {
  std::vector<int64_t> from;  // start in the source's logical tensor
  std::vector<int64_t> to;    // start in the target's logical tensor
  std::vector<int64_t> extent;
};

struct NameRule {
  std::string site;     // pattern: "*" stands for one dotted component, "**" for any number
  std::string role;     // "" = any
  std::string to_site;  // $1, $2 ... are what the stars matched
  std::string to_role;  // "" = unchanged
  std::vector<int64_t> to_shape;  // logical shape of the target; empty = unchanged
  std::vector<RegionMove> moves;  // empty = unchanged
};

struct RulesFile {
  std::string name;
  std::vector<NameRule> rules;  // first match wins
};

// Throws Error(kUsage) with file and the place in it.
RulesFile read_rules_file(const std::filesystem::path& path);
// Renames and moves records in place. Value digests and sketches of moved regions cannot be
// derived: such records keep statistics and raw digest, and are compared by value when they have
// values.
void apply_rules(const RulesFile& rules, Step& step);

// True when the dotted name fits the pattern; `captures` gets what each star matched.
bool match_site(const std::string& pattern, const std::string& site,
                std::vector<std::string>* captures);

}  // namespace nanhunt::trace
