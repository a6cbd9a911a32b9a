// SPDX-License-Identifier: Apache-2.0
// The verdict: what a comparison or a scan concludes, ready to print, to paste into a ticket, or to
// read by machine (JSON schema and exit statuses in docs/verdict.md).
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "oracle/finding.h"

namespace nanhunt::compare {

// kFails and kPasses: by the subject's own word (exit status, check), without a look at its
// tensors.
enum class VerdictKind {
  kClean,
  kNonFinite,
  kDivergence,
  kIncomplete,
  kUnresolved,
  kFails,
  kPasses
};
enum class Blame { kNone, kCandidate, kReference, kBoth, kUndecided };

// How the inputs of an originated finding stand.
enum class Inputs {
  kWithin,     // all linked inputs judged and within: originated
  kFirstSeen,  // no links, or none of them judged: first seen here
  kInterval,   // inputs between the two thresholds: the origin lies in `candidates`
};

struct Origin {
  oracle::Finding finding;            // the leading finding at that place
  std::vector<oracle::Finding> also;  // other rules that break at the same place
  Inputs inputs = Inputs::kWithin;
  // The leading record follows from its own operands: the op did what it was given, and what it was
  // given, or that it was this op, is wrong.
  bool follows_from_operands = false;
  std::vector<std::string> candidates;  // descriptions, when kInterval
  // Tensors between it and the inputs that are within, which the reference could not judge.
  std::vector<std::string> unjudged_between;
  // Place of another origin that its inputs come from, though they are within; "" for none.
  std::string downstream_of;
  std::string predicted;              // key of the semantic change that predicts it; else ""
  std::string signature;              // "" when none is recognised
  std::string signature_detail;       // "ratio 2.0003"
  std::string lineage;                // of a non-finite value: how it came to be; "" for others
  std::string lineage_detail;         // element and operands
  std::string growth;                 // of a non-finite value: sizes in the steps before
  std::vector<std::string> vanished;  // and the places where it is finite again
  int64_t passed_on = 0;              // findings downstream that are explained by it
  Blame blame = Blame::kNone;
  std::vector<std::string> hosts;  // of the ranks, with devices
  std::string hypothesis;          // rank pattern and the trial that would decide it
};

struct Coverage {
  int64_t sites_fired = 0,
          sites_expected = 0;  // expected: of the reference, or seen in any step or rank
  int64_t collectives_matched = 0, collectives = 0;
  int64_t records_compared = 0, records = 0;
  int64_t replayed = 0;  // records computed again from their operands
  int64_t unknown_placements = 0, unseen_regions = 0;
  std::vector<int64_t> steps;
  int32_t ranks_present = 0, ranks_expected = 0;
  std::vector<std::string> incomplete;  // "rank 3 ends at sequence 812, no further segments"
  std::vector<std::string> missing,
      extra;  // what the reference has and the candidate lacks, and vice versa
  std::vector<std::string> unjudged;      // compared but without an envelope, by site kind
  std::vector<std::string> not_replayed;  // captured in full, and why not computed again
  std::vector<std::string> dropped;       // what capture left out
  std::vector<std::string> not_captured;  // what no hook could see, in the words of the capture
};

struct ConfigDifference {
  std::string key, candidate, reference;
};

// An op that the two runs compute differently by its attributes.
struct SemanticChange {
  std::string key;                   // "gelu.tanh"
  std::string candidate, reference;  // values
  std::vector<std::string> sites;
  bool intended = false;  // the case says so: the reference does not judge what follows from it
};

// Which toggles explain the failure (filled in by the ablation).
struct Cause {
  std::string statement;             // one sentence
  std::vector<std::string> toggles;  // empty: none explains it
  bool confirmed = false;
  std::vector<std::string> sufficient;  // toggles that alone, switched on the reference, fail
  std::vector<std::string> undecided;   // toggles whose trial could not tell, with the reason
};

// How far one place is off by one rule, and how far it may be: what a report draws.
struct Measurement {
  trace::What what;
  std::string rule, unit;
  std::string standing;  // within; undecided: between the bounds; out: a finding; excused: out, but
                         // by a failure of the reference or an intended change
  double measured = 0, allowed = 0;
};

// measured / allowed; 0 where nothing differs, Inf without a bound to divide by, or of a NaN.
double excess(const Measurement& measurement);

// The loss of one step on both sides.
struct Loss {
  int64_t step = 0;
  std::string site, role;
  double candidate = 0;
  std::optional<double> reference;  // empty in a scan, or where the reference has none
};

struct Verdict {
  VerdictKind kind = VerdictKind::kUnresolved;
  std::string reason;           // unresolved and incomplete: why; fails and passes: evidence
  std::vector<Origin> origins;  // in happens-before order; the first leads
  Coverage coverage;
  std::vector<ConfigDifference> differences;
  std::vector<SemanticChange> semantic_changes;
  std::vector<std::string> events;  // not findings: FP16 overflow with skipped step, ...
  std::string thresholds_sha256;
  std::map<std::string, double> thresholds;  // the values that it is the hash of
  bool exploratory = false;
  bool controls_passed = true;  // self-comparison passes, a perturbed tensor fails
  std::optional<Cause> cause;
  std::string candidate, reference;  // trace folders; of a run without a trace, its folder
  std::string next_command;
  std::vector<Measurement> measurements;  // of one step, in happens-before order (measurements.h)
  std::vector<Loss> losses;               // by step

  Blame blame() const;  // of the leading origin
};

std::string_view name_of(VerdictKind kind);
std::string_view name_of(Blame blame);
std::string_view name_of(Inputs inputs);

// Exit status: 0 clean or passes, 1 finding or fails, 3 incomplete without a finding, 125 cannot
// tell.
int exit_status(VerdictKind kind);
int exit_status(const Verdict& verdict);
nlohmann::json to_json(const Verdict& verdict);
// The way back, of what to_json wrote. Throws Error(kUnreadable): another schema than
// kSchemaVersion, a key that is missing or of another type.
inline constexpr int kSchemaVersion = 1;
Verdict verdict_from_json(const nlohmann::json& json);
// Coverage first, then findings, then the ticket block.
std::string to_text(const Verdict& verdict);
// The block to paste: verdict, site, ranks with hosts, rule with measured and allowed, inputs, next
// command.
std::string ticket(const Verdict& verdict);

}  // namespace nanhunt::compare
