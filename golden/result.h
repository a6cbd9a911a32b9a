// SPDX-License-Identifier: Apache-2.0
// What `nanhunt golden check` concludes.
//
//   same       everything that the file holds was there, and equal or within noise
//   different  something is not: a bit that must not differ, a value beyond the noise, a NaN
//   unknown    neither: something differs that nothing was shown of, or is missing
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "compare/verdict.h"
#include "golden/golden.h"

namespace nanhunt::golden {

enum class Verdict { kSame, kDifferent, kUnknown };
std::string_view name_of(Verdict verdict);
int exit_status(Verdict verdict);  // 0, 1, 125

enum class Standing {
  kSame,      // bits
  kWithin,    // noise
  kUnjudged,  // differs, and cannot be told from a healthy run
  kDifferent,
};

// A place, with all ranks that differ there in the same way. Finding: rule (bits, noise,
// non_finite, size, copies, loss), measured and allowed, evidence.
struct Difference {
  oracle::Finding finding;
  std::string inputs;  // whether it started here
};

struct LossPoint {
  CurveKey key;
  double value = 0;
  Class kind = Class::kUnjudged;
  double low = 0, high = 0;  // bit: both the value; noise: the interval; unjudged: NaN
  Standing standing = Standing::kSame;
  std::string why;  // unjudged
};

struct Counts {
  int64_t same = 0, within = 0, unjudged = 0, different = 0;

  void add(Standing standing);
  int64_t all() const { return same + within + unjudged + different; }
};

struct Result {
  Verdict verdict = Verdict::kUnknown;
  std::string reason;  // one line
  std::string trace, layout;
  bool layout_exported = true;
  int runs = 0;                                        // that exported the table
  int64_t expected = 0;                                // entries of the table
  std::vector<compare::ConfigDifference> differences;  // reference: of the exporting runs
  std::string excuse;  // why a bit difference is no regression; "" when it is one
  Counts tensors, losses;
  std::vector<Difference> different;  // originated ones, in happens-before order; the first leads
  int64_t passed_on = 0;              // entries that follow from those
  std::optional<Difference> first_unjudged;
  std::map<std::string, int64_t> unjudged;        // by reason
  std::map<std::string, int64_t> missing, extra;  // by kind of place
  std::vector<std::string> incomplete;            // ranks that did not come to the end of a step
  int64_t by_norm_alone = 0;                      // noise of tensors whose placement is unknown
  std::vector<LossPoint> curve;
  int64_t judged = 0;  // quantities that share the family rate
  double family_rate = 0;
  std::string thresholds_sha256;
  bool exploratory = false;
};

std::string to_text(const Result& result);
nlohmann::json to_json(const Result& result);

}  // namespace nanhunt::golden
