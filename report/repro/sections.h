// SPDX-License-Identifier: Apache-2.0
// What the page says of a convergence result, as data of the template (repro/convergence.html names
// the keys); a page of its own, or the last part of that of a level report.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "report/data.h"
#include "repro/convergence.h"

namespace nanhunt::report {

Data metrics(const repro::Convergence& result);  // a row each, and the words of the text
Data seeds(const repro::Convergence& result);    // the values of each pair
Data margins(const repro::Convergence& result);  // what was fixed before

Data convergence_data(const repro::Convergence& result);  // all of it
nlohmann::json convergence_plots(const repro::Convergence& result);

}  // namespace nanhunt::report
