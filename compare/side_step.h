// SPDX-License-Identifier: Apache-2.0
// One side's trace of one step, with what judging adds: logical tensors, flow, order, findings, and
// how each record stands against the reference.
#pragma once

#include <memory>
#include <vector>

#include "compare/flow.h"
#include "compare/order.h"
#include "compare/trace_source.h"
#include "oracle/finding.h"
#include "oracle/logical.h"
#include "oracle/replay/local_replay.h"
#include "oracle/thresholds.h"

namespace nanhunt::compare {

// How a record stands against the reference.
enum class Standing {
  kUnjudged,   // no reference, no envelope, not comparable
  kWithin,     // below the lower bound, or equal
  kUndecided,  // between the bounds
  kOut,        // above the upper bound
};

struct Judgement {
  Standing standing = Standing::kUnjudged;
  double error = 0;    // relative norm of the deviation; 0 when unjudged
  double allowed = 0;  // upper bound of that norm
  double growth = 1;   // healthy error of the tensor over that of its linked inputs; 1: not known
};

struct SideStep {
  oracle::Side side = oracle::Side::kCandidate;
  const TraceSource* source = nullptr;
  std::unique_ptr<const trace::Step> step;  // stays where it is: flow and order refer to it
  std::unique_ptr<const Flow> flow;
  std::unique_ptr<const Order> order;
  std::vector<oracle::Logical> logicals;  // ordered by what
  std::vector<oracle::Finding> findings;
  std::vector<std::vector<int>> findings_of;  // by record: indices into findings
  std::vector<std::vector<int>> holders;      // by logical: its records, each once
  std::vector<int> logical_of;                // by record
  std::vector<Judgement> judged;              // by record
  std::vector<bool> has_copies;               // by record: held by another rank too
  oracle::LocalReplay replay;                 // its findings are among `findings`

  const trace::Record& record(int index) const { return step->records[static_cast<size_t>(index)]; }
  int find(const oracle::RecordRef& ref) const { return step->find(ref.rank, ref.sequence); }
  void add_finding(oracle::Finding finding);
};

// Assembles a step at hand, without rules.
SideStep make_side(const TraceSource& source, trace::Step step, oracle::Side side);
// Every rule that needs no reference; replay: local replay too.
void run_rules(SideStep& side, bool replay, const trace::Step* previous,
               const oracle::Thresholds& thresholds);

// The logical tensor of that what, or nullptr.
const oracle::Logical* find_logical(const SideStep& side, const trace::What& what);
// Records of that place: site, phase and role in this step, on any rank and microbatch.
std::vector<int> records_at(const SideStep& side, const std::string& site, trace::Phase phase,
                            const std::string& role);
bool has_non_finite(const trace::Record& record);

}  // namespace nanhunt::compare
