// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_reader.h"

#include <algorithm>
#include <list>
#include <optional>
#include <tuple>
#include <utility>

#include "trace/check.h"
#include "trace/error.h"
#include "trace/large_array.h"
#include "trace/segment_file.h"
#include "trace/step_files.h"
#include "trace/value_file.h"

namespace nanhunt::trace {
namespace {

namespace fs = std::filesystem;

constexpr size_t kOpenFiles = 32;
constexpr int64_t kPieceBytes = int64_t{1} << 16;  // stays in the cache until it is widened

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorKind::kUnreadable, message);
}

// What the folder knows of one segment without opening it again.
struct SegmentEntry {
  fs::path path;
  schema::HeaderRow header;
  std::string cut_detail;
  int64_t bytes = 0;
};

using Segments = std::vector<SegmentEntry>;            // by index
using RankSegments = std::map<int32_t, Segments>;      // by rank
using StepSegments = std::map<int64_t, RankSegments>;  // by step

void check_same_run(const SegmentEntry& first, const SegmentEntry& other) {
  const auto contradict = [&](const std::string& what) {
    fail(other.path.string() + " contradicts " + first.path.string() + ": " + what +
         "; are two runs in one folder?");
  };
  if (other.header.world_size != first.header.world_size) {
    contradict("world size " + std::to_string(other.header.world_size) + " against " +
               std::to_string(first.header.world_size));
  }
  if (other.header.mesh_size != first.header.mesh_size) contradict("another mesh");
  if (other.header.rank < 0 || other.header.rank >= other.header.world_size) {
    fail(other.path.string() + ": rank " + std::to_string(other.header.rank) +
         " is outside its world size " + std::to_string(other.header.world_size));
  }
}

std::string run_of(const RunFacts& facts) {
  const auto run = facts.facts.find(kRunFact);
  return run == facts.facts.end() ? "" : run->second;
}

bool tells_death(const SegmentEntry& segment) {
  const auto cut = static_cast<CutReason>(segment.header.cut);
  return cut == CutReason::kSignal || cut == CutReason::kException;
}

// The rank ended the step, and died before it began another.
bool died_after(const Segments& segments) {
  if (segments.size() < 2 || !tells_death(segments.back())) return false;
  const SegmentEntry& before = segments[segments.size() - 2];
  return static_cast<CutReason>(before.header.cut) == CutReason::kStepEnd &&
         segments.back().header.last_sequence < 0;
}

RankProgress progress_of(int32_t rank, const Segments& segments) {
  RankProgress progress;
  progress.rank = rank;
  if (segments.empty()) return progress;
  progress.present = true;
  for (const SegmentEntry& segment : segments) {
    progress.last_sequence = std::max(progress.last_sequence, segment.header.last_sequence);
    progress.bytes += segment.bytes;
  }
  const SegmentEntry& last = segments.back();
  progress.cut = static_cast<CutReason>(last.header.cut);
  progress.cut_detail = last.cut_detail;
  const bool none_missing = last.header.index + 1 == static_cast<int32_t>(segments.size());
  progress.complete = none_missing && (progress.cut == CutReason::kStepEnd || died_after(segments));
  return progress;
}

// How the rank died in, or after, the last step before `step` in which it wrote; nullptr when it
// did not say.
const SegmentEntry* death_before(const StepSegments& steps, int32_t rank, int64_t step) {
  for (auto earlier = std::make_reverse_iterator(steps.lower_bound(step)); earlier != steps.rend();
       ++earlier) {
    const auto segments = earlier->second.find(rank);
    if (segments == earlier->second.end()) continue;
    const SegmentEntry& last = segments->second.back();
    return tells_death(last) ? &last : nullptr;
  }
  return nullptr;
}

// Brings the records from `first` on, all of one rank, into program order.
void sort_records(std::vector<Record>* records, size_t first) {
  const auto begin = records->begin() + static_cast<std::ptrdiff_t>(first);
  const auto by_sequence = [](const Record& a, const Record& b) {
    return a.where.sequence < b.where.sequence;
  };
  if (!std::is_sorted(begin, records->end(), by_sequence)) {
    std::stable_sort(begin, records->end(), by_sequence);
  }
  const auto repeated = std::adjacent_find(begin, records->end(), [](const auto& a, const auto& b) {
    return a.where.sequence == b.where.sequence;
  });
  if (repeated != records->end()) {
    fail("sequence " + std::to_string(repeated->where.sequence) + " of rank " +
         std::to_string(repeated->where.rank) + " occurs twice in step " +
         std::to_string(repeated->what.step));
  }
}

// The last few files whose values were used stay open.
class OpenFiles {
 public:
  const ValueFile& open(const fs::path& path) {
    const auto known = std::find_if(files_.begin(), files_.end(),
                                    [&](const ValueFile& file) { return file.path() == path; });
    if (known != files_.end()) {
      files_.splice(files_.begin(), files_, known);
    } else {
      if (files_.size() == kOpenFiles) files_.pop_back();
      files_.emplace_front(path);
    }
    return files_.front();
  }

 private:
  std::list<ValueFile> files_;  // most recently used first
};

}  // namespace

struct TraceReader::Impl {
  fs::path folder;
  StepSegments steps;
  std::vector<RunFacts> facts;
  int32_t world_size = 0;
  mutable OpenFiles files;

  void open_all() {
    std::map<int32_t, SegmentEntry> first_of_rank;
    std::map<int32_t, fs::path> last_of_rank;
    const SegmentEntry* first = nullptr;
    for (const fs::path& path : list_segments(folder)) {
      const SegmentFile file(path);
      SegmentEntry entry{path, file.header(), file.cut_detail(),
                         static_cast<int64_t>(fs::file_size(path))};
      const auto known = first_of_rank.try_emplace(entry.header.rank, entry).first;
      if (first == nullptr) first = &known->second;
      check_same_run(*first, entry);
      last_of_rank[entry.header.rank] = path;
      if (known->second.header.mesh_coordinate != entry.header.mesh_coordinate) {
        fail(path.string() + " contradicts " + known->second.path.string() +
             ": another mesh coordinate; are two runs in one folder?");
      }
      steps[entry.header.step][entry.header.rank].push_back(std::move(entry));
    }
    world_size = first->header.world_size;
    // A rank's facts grow: its last file has those that came late. What both say (a ring, why each
    // was written) is the first one's.
    for (const auto& [rank, path] : last_of_rank) {
      facts.push_back(SegmentFile(first_of_rank.at(rank).path).facts());
      facts.back().facts.merge(SegmentFile(path).facts().facts);
    }
  }

  const RankSegments& segments_of(int64_t step) const {
    const auto found = steps.find(step);
    if (found != steps.end()) return found->second;
    fail("trace " + folder.string() + " has no step " + std::to_string(step) + "; it has steps " +
         std::to_string(steps.begin()->first) + " to " + std::to_string(steps.rbegin()->first));
  }

  // The segment that holds the record's values.
  const ValueFile& file_of(const Record& record) const {
    const RankSegments& ranks = segments_of(record.what.step);
    const auto rank = ranks.find(record.where.rank);
    const int64_t sequence = record.where.sequence;
    if (rank != ranks.end()) {
      // Lanes may interleave, so ranges of neighbouring segments may overlap.
      for (const SegmentEntry& segment : rank->second) {
        const auto& header = segment.header;
        if (sequence < header.first_sequence || sequence > header.last_sequence) continue;
        const ValueFile& file = files.open(segment.path);
        if (file.contains(sequence)) return file;
      }
    }
    fail("trace " + folder.string() + " has no values of " + describe(record.what) + " (rank " +
         std::to_string(record.where.rank) + ", sequence " + std::to_string(sequence) + ")");
  }
};

TraceReader::TraceReader(fs::path folder) : impl_(std::make_unique<Impl>()) {
  impl_->folder = std::move(folder);
  impl_->open_all();
}

TraceReader::~TraceReader() = default;
TraceReader::TraceReader(TraceReader&&) noexcept = default;
TraceReader& TraceReader::operator=(TraceReader&&) noexcept = default;

const fs::path& TraceReader::folder() const {
  return impl_->folder;
}
int32_t TraceReader::world_size() const {
  return impl_->world_size;
}
const std::vector<RunFacts>& TraceReader::facts() const {
  return impl_->facts;
}

std::vector<int64_t> TraceReader::steps() const {
  std::vector<int64_t> steps;
  for (const auto& [step, ranks] : impl_->steps) steps.push_back(step);
  return steps;
}

const RunFacts* TraceReader::facts_of(int32_t rank) const {
  for (const RunFacts& facts : impl_->facts) {
    if (facts.rank == rank) return &facts;
  }
  return nullptr;
}

std::vector<RankProgress> TraceReader::progress(int64_t step) const {
  const RankSegments& ranks = impl_->segments_of(step);
  std::vector<RankProgress> result;
  for (int32_t rank = 0; rank < impl_->world_size; ++rank) {
    const auto found = ranks.find(rank);
    RankProgress progress = progress_of(rank, found == ranks.end() ? Segments{} : found->second);
    if (!progress.present) {
      if (const SegmentEntry* death = death_before(impl_->steps, rank, step)) {
        progress.cut = static_cast<CutReason>(death->header.cut);
        progress.cut_detail = death->cut_detail;
      }
    }
    result.push_back(std::move(progress));
  }
  return result;
}

Step TraceReader::read_step(int64_t step) const {
  Step result;
  result.step = step;
  result.progress = progress(step);
  std::map<std::string, int64_t> dropped;
  for (const auto& [rank, segments] : impl_->segments_of(step)) {
    const size_t first = result.records.size();
    std::map<int64_t, Collective> log;  // they come in order of completion
    std::optional<std::string> run;
    for (const SegmentEntry& entry : segments) {
      Segment segment = SegmentFile(entry.path).read();
      const std::string writer = run_of(segment.facts);
      if (writer != run.value_or(writer)) {
        fail(entry.path.string() + " contradicts " + segments.front().path.string() +
             ": two runs wrote this rank; are two runs in one folder?");
      }
      run = writer;
      std::move(segment.records.begin(), segment.records.end(), std::back_inserter(result.records));
      for (size_t i = 0; i < segment.collectives.size(); ++i) {
        log.insert_or_assign(segment.collective_index[i], std::move(segment.collectives[i]));
      }
      for (const auto& [reason, count] : segment.dropped) dropped[reason] += count;
    }
    sort_records(&result.records, first);
    for (auto& [log_index, collective] : log) {
      result.collective_log_index.push_back(log_index);
      result.collectives.push_back(std::move(collective));
    }
  }
  result.dropped.assign(dropped.begin(), dropped.end());
  result.build_index();
  return result;
}

void TraceReader::read_values(const Record& record, int64_t start, int64_t count,
                              std::span<std::byte> out) const {
  impl_->file_of(record).read(record, start, count, out);
}

std::vector<double> TraceReader::read_doubles(const Record& record) const {
  int64_t elements = 1;
  for (const int64_t size : record.local_shape) elements *= size;
  return read_doubles(record, 0, elements);
}

std::vector<double> TraceReader::read_doubles(const Record& record, int64_t start,
                                              int64_t count) const {
  std::vector<double> values;
  read_doubles(record, start, count, values);
  return values;
}

void TraceReader::read_doubles(const Record& record, int64_t start, int64_t count,
                               std::vector<double>& values) const {
  const auto size = static_cast<int64_t>(size_of(record.storage));
  const int64_t piece = kPieceBytes / size;
  const ValueFile& file = impl_->file_of(record);
  resize_for_overwrite(values, static_cast<size_t>(count));
  std::vector<std::byte> raw(static_cast<size_t>(std::min(piece, count) * size));
  for (int64_t done = 0; done < count; done += piece) {
    const int64_t part = std::min(piece, count - done);
    const auto bytes = std::span(raw).first(static_cast<size_t>(part * size));
    file.read(record, start + done, part, bytes);
    widen_to_double(bytes.data(), record.storage, static_cast<size_t>(part), values.data() + done);
  }
}

}  // namespace nanhunt::trace
