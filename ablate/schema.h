// SPDX-License-Identifier: Apache-2.0
// The one table of what case and subject files may hold; docs/cases.md explains each key.
#pragma once

#include <vector>

#include "ablate/options_file.h"

namespace nanhunt::ablate {

// Keys of a subject file.
const std::vector<Leaf>& subject_schema();
// Keys of a case file, the sections [fault] and [expect] included: they are known here so that a
// mistyped key is found, but read elsewhere, by the check of the bundled cases alone.
const std::vector<Leaf>& case_schema();

}  // namespace nanhunt::ablate
