// SPDX-License-Identifier: Apache-2.0
// Files that are compiled into the program, so that it needs none of them where it runs: this
// folder's templates, style and scripts, and the plot library (Chart.js, MIT licence, its notice in
// its first lines).
#pragma once

#include <string_view>

namespace nanhunt::report {

std::string_view page_html();     // the frame
std::string_view verdict_html();  // what a kind of result fills it with
std::string_view levels_html();
std::string_view convergence_html();
std::string_view page_css();
std::string_view chart_js();
std::string_view plots_js();  // before the scripts of single plots
std::string_view error_plot_js();
std::string_view loss_plot_js();
std::string_view curve_plot_js();
std::string_view interval_plot_js();

}  // namespace nanhunt::report
