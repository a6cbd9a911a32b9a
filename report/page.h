// SPDX-License-Identifier: Apache-2.0
// The page: one HTML file that holds all it needs and loads nothing (template, style and script of
// this folder, and the plot library). All text of a result is escaped, by the template library in
// HTML, as \u003c in the data of the plots.
#pragma once

#include <string>

#include "report/result.h"

namespace nanhunt::report {

std::string to_html(const Content& content);

}  // namespace nanhunt::report
