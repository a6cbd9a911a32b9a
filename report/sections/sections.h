// SPDX-License-Identifier: Apache-2.0
// The sections of the page of a verdict, one file each, as data of the template
// (report/verdict.html names the keys).
#pragma once

#include "report/data.h"
#include "report/result.h"

namespace nanhunt::report {

Data findings(const compare::Verdict& verdict);
Data coverage(const compare::Verdict& verdict);
Data configurations(const compare::Verdict& verdict);  // what differs between both sides
Data thresholds(const compare::Verdict& verdict);
Data ablation(const HuntResult& result);
Data commands(const compare::Verdict& verdict);

bool judges_traces(const compare::Verdict& verdict);      // or a subject that tells its own failure
std::string steps_of(const compare::Coverage& coverage);  // "0 1 2"; of many the first and last

}  // namespace nanhunt::report
