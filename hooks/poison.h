// SPDX-License-Identifier: Apache-2.0
// Poison: memory that a LibTorch program takes for tensors on the CPU is filled with bytes of all
// ones before the program sees it. In every floating type that is a NaN, and one that no arithmetic
// makes, so that a captured value with these bits was read before anything wrote it. at::zeros and
// whatever else is written by its maker is as before. Memory of other devices is not filled.
#pragma once

namespace nanhunt::hooks {

inline constexpr unsigned char kPoisonByte = 0xff;

// From now to the end of the process; thread safe, more than one call is one.
void poison_allocations();

}  // namespace nanhunt::hooks
