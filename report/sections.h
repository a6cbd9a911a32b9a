// SPDX-License-Identifier: Apache-2.0
// What each section of the page says, as data of the template (page.html names the keys). Plain
// text throughout: the template escapes it.
#pragma once

#include <kainjow/mustache.hpp>

#include "report/result.h"

namespace nanhunt::report {

using Data = kainjow::mustache::data;

Data sections(const Result& result);

}  // namespace nanhunt::report
