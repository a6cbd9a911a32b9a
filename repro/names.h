// SPDX-License-Identifier: Apache-2.0
// What two builds call the same things: parameters of their capsules, and sites of their traces.
//
// A parameter that one side alone has is the renamed one of the other side when both have the same
// shape, type and values (value digest) at one of the steps given, and no third tensor without a
// counterpart has them, too. Constants (norm weights, biases that start at 0) are too common to be
// told so: of these the shape alone is left, and the pair is said to be a guess.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "capsule/capsule.h"

namespace nanhunt::repro {

struct NameDifferences {
  std::vector<std::pair<std::string, std::string>> renamed;  // name in A, in B; by A
  std::vector<std::pair<std::string, std::string>> guessed;  // the only ones of a shape, constant
  std::vector<std::string> only_a, only_b;                   // all others

  bool any() const {
    return !renamed.empty() || !guessed.empty() || !only_a.empty() || !only_b.empty();
  }
};

// Capsules of A and B at the same steps, the earliest first; at least one pair.
NameDifferences compare_names(
    const std::vector<std::pair<const capsule::Capsule*, const capsule::Capsule*>>& pairs);

struct SiteDifferences {
  std::vector<std::string> only_a, only_b;  // kinds of sites: decoder.layers.*.mlp_dropout
};

// Sites that are no parameter's, in a step of each.
SiteDifferences compare_sites(const trace::Step& a, const trace::Step& b);

}  // namespace nanhunt::repro
