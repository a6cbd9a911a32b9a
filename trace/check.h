// SPDX-License-Identifier: Apache-2.0
// Broken invariants of nanhunt itself: they stop the program at once and name the place.
// What a user or the world can cause is a trace::Error (error.h), never a check.
#pragma once

#include <cstdio>
#include <cstdlib>

#define NANHUNT_CHECK(condition)                                                                  \
  do {                                                                                            \
    if (!(condition)) {                                                                           \
      std::fprintf(stderr, "nanhunt: broken invariant at %s:%d: %s\n", __FILE__, __LINE__,        \
                   #condition);                                                                   \
      std::abort();                                                                               \
    }                                                                                             \
  } while (false)
