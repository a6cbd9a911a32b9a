// SPDX-License-Identifier: Apache-2.0
#pragma once

// Rules about the form of files.

#include <vector>

#include "tests/house/source_tree.h"

namespace nanhunt::house {

// Source files of more than 600 lines.
std::vector<Breach> long_files(const std::vector<SourceFile>& files);

// Lines of C++ wider than 100 columns (counted in characters of UTF-8).
std::vector<Breach> wide_lines(const std::vector<SourceFile>& files);

// C++ files without the licence in the first line, headers without #pragma once.
std::vector<Breach> missing_preambles(const std::vector<SourceFile>& files);

// C++ below tests/ that names what a folder or file of the temporary directory is made with, but
// for tests/support/scratch_folder.h: by any other way two tests can share a file, as ctest runs
// each in a process of its own.
std::vector<Breach> shared_folders(const std::vector<SourceFile>& files);

// Marks of unfinished work, and paths of one person's machine.
std::vector<Breach> forbidden_words(const std::vector<SourceFile>& files);

}  // namespace nanhunt::house
