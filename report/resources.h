// SPDX-License-Identifier: Apache-2.0
// Files that are compiled into the program, so that it needs none of them where it runs: this
// folder's template, style and script, and the plot library (Chart.js, MIT licence, its notice in
// its first lines).
#pragma once

#include <string_view>

namespace nanhunt::report {

std::string_view page_html();
std::string_view page_css();
std::string_view page_js();
std::string_view chart_js();

}  // namespace nanhunt::report
