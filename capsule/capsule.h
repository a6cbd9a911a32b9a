// SPDX-License-Identifier: Apache-2.0
// A capsule: what a step needs to be run again, as a trace folder whose rows are of phase `state`,
// captured in full (trace/segment.h: each file is whole or absent). One step of the folder is one
// capsule. Opening it computes what is there; nothing is believed that a file says about its own
// completeness beyond "this rank ended the step".
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "capsule/kinds.h"
#include "trace/trace_reader.h"

namespace nanhunt::capsule {

// Something that makes a capsule unfit to go on from. `what` is one line that names file, rank or
// tensor.
struct Fault {
  std::string what;
  Level breaks = Level::kState;
  std::string tensor = {};     // "site role"; "" when it is of the whole
  bool contradiction = false;  // all of the tensor is there, and ranks say different things
};

// One logical tensor of the capsule: its rows, by rank.
struct Entry {
  std::string site, role;
  std::vector<int> records;  // into step().records
};

class Capsule {
 public:
  // step < 0: the newest step that every rank ended, else the newest. Throws Error(kUnreadable):
  // no such folder, no such step, no capsule but another trace, files that cannot be read. Files of
  // older steps are not looked at: they may be of another layout.
  explicit Capsule(std::filesystem::path folder, int64_t step = -1);

  const std::filesystem::path& folder() const { return folder_; }
  // Of that step alone.
  const trace::TraceReader& reader() const { return reader_; }
  const trace::Step& step() const { return step_; }
  // Ordered by site, then role.
  const std::vector<Entry>& entries() const { return entries_; }
  const Entry* find(const std::string& site, const std::string& role) const;

  // What is wrong with it: ranks without a file or with a part of one, values left out, two runs
  // that wrote into one folder, tensors that the ranks' regions do not cover, copies of one region
  // that differ. Empty: whole. Values are not read: verify.h does, and load.h as it loads.
  const std::vector<Fault>& faults() const { return faults_; }
  // Throws Error(kUnreadable) with the first fault and their number. Contradictions may pass: then
  // all is there, and the caller says what contradicts what.
  void require_whole(bool contradictions_pass = false) const;

  // What in a row contradicts itself, so that its values must not be touched; "" when nothing does.
  static std::string incoherence(const trace::Step& step, const trace::Record& record);

 private:
  void look_for_faults();

  std::filesystem::path folder_;
  trace::TraceReader reader_;
  trace::Step step_;
  std::vector<Entry> entries_;
  std::vector<Fault> faults_;
};

// Whether the rows of a trace are those of capsules: that step tells, step < 0: the first. Throws
// Error(kUnreadable).
bool holds_capsule(const std::filesystem::path& folder, int64_t step = -1);
// Every rank of that step of the folder ended it. Errors as of Capsule.
bool is_ended(const std::filesystem::path& folder, int64_t step);
// Steps of the folder that every rank ended, ascending. Errors as of Capsule.
std::vector<int64_t> ended_steps(const std::filesystem::path& folder);

// "decoder.final_layernorm.weight master"
std::string name_of(const Entry& entry);

// A number that tells writers apart: the same on all ranks of a run, another in each run.
inline constexpr const char* kRunSite = "capsule";
inline constexpr const char* kRunRole = "run";
// A fact of the run (trace/run_facts.h): the files that it was converted from
// (hooks/python/nanhunt/checkpoint.py). It has what they had, which is rarely all of a run's state.
inline constexpr const char* kConvertedFact = "converted";

}  // namespace nanhunt::capsule
