// SPDX-License-Identifier: Apache-2.0
// Puts failures in happens-before order. One comes before another when one of its records happens
// before one of the other's, and not the reverse too. Unrelated ones go by site, phase and rank.
#pragma once

#include <vector>

#include "compare/order.h"

namespace nanhunt::compare {

struct Place {
  int id = 0;
  std::vector<int> records;  // in the step that the order is of
};

std::vector<int> in_causal_order(const Order& order, std::vector<Place> places);

}  // namespace nanhunt::compare
