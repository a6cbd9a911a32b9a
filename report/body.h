// SPDX-License-Identifier: Apache-2.0
// What a kind of result fills the page with: the frame (page.html, page.cc) is the same for all.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "report/data.h"
#include "report/result.h"

namespace nanhunt::report {

struct Body {
  std::string_view html;  // the template between the head and the scripts
  Data data;              // its keys, and those of the head: verdict, tone, headline, ticket
  nlohmann::json plots;   // by the name in a canvas's data-plot, what its script draws
};

Body body_of(const HuntResult& result);
Body body_of(const LevelResult& result);
Body body_of(const repro::Convergence& result);

}  // namespace nanhunt::report
