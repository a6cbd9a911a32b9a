// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which folder may include which. Capture and analysis meet only in the trace files:
//
//   trace <- hooks <- cases          trace <- oracle <- compare <- ablate <- report <- cli
//                                                       compare <- checkpoint <- cli
//                                                                  ablate <- bisect <- cli
//
// LibTorch is known to hooks and cases alone, HDF5 to trace alone; cases/plain and cases/mini know
// nothing of each other, because one is held against the other. tests/ and bench/ may include all.

#include <vector>

#include "tests/house/source_tree.h"

namespace nanhunt::house {

// The includes of C++ files that the table does not allow. A quoted include must start with one of
// our folders: includes are written from the root.
std::vector<Breach> forbidden_includes(const std::vector<SourceFile>& files);

}  // namespace nanhunt::house
