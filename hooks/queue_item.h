// SPDX-License-Identifier: Apache-2.0
// What the training threads hand to the writer. One queue carries everything, so that the writer
// sees rows, collectives, facts and step ends of a rank in the order in which they happened.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "hooks/seal_latch.h"
#include "trace/collective.h"
#include "trace/record.h"
#include "trace/run_facts.h"
#include "trace/segment.h"

namespace nanhunt::hooks {

using Clock = std::chrono::steady_clock;

struct RankAdded {
  trace::RunFacts facts;
};

struct StepBegun {
  int64_t step = 0;
};

struct StepEnded {};

struct Row {
  trace::Record record;
  std::vector<std::byte> values;  // packed in local order; empty when not captured
};

struct CollectiveIssued {
  int64_t log_index = 0;
  trace::Collective collective;
};

struct CollectiveInputs {
  int64_t log_index = 0;
  std::vector<int64_t> inputs;
};

struct CollectiveCompleted {
  int64_t log_index = 0;
  int64_t complete_sequence = 0;
  std::vector<int64_t> outputs;
};

struct FactAdded {
  std::string key;
  std::string value;
};

// Something was left out, `count` times.
struct LeftOut {
  std::string reason;
  int64_t count = 1;
};

// Cut the segment that is open now, even when the step goes on.
struct CutNow {
  trace::CutReason reason = trace::CutReason::kTrigger;
  std::string detail;
};

struct QueueItem {
  int slot = 0;  // of the rank in this process, from 0
  std::variant<RankAdded, StepBegun, StepEnded, Row, CollectiveIssued, CollectiveInputs,
               CollectiveCompleted, FactAdded, LeftOut, CutNow>
      body;
  int64_t bytes = 0;     // reserved in the queue until the row is sealed
  Clock::time_point accepted{};
  bool first_non_finite = false;      // rows only
  std::shared_ptr<SealLatch> sealed;  // opened when the file that holds the item has its final name
};

// A cut that somebody waits for, or that ends a step: the writer is woken at once.
inline bool is_urgent(const QueueItem& item) {
  return item.sealed || item.first_non_finite || std::holds_alternative<StepEnded>(item.body) ||
         std::holds_alternative<CutNow>(item.body);
}

}  // namespace nanhunt::hooks
