// SPDX-License-Identifier: Apache-2.0
#pragma once

// Compiles only after someone else has included <string>.
struct LeaningHeader {
  std::string text;
};
