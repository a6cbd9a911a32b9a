// SPDX-License-Identifier: Apache-2.0
#include "cli/scan_checkpoint.h"

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "capsule/name.h"
#include "capsule/scan.h"
#include "checkpoint/capsule_source.h"
#include "checkpoint/layout.h"
#include "checkpoint/scan.h"
#include "cli/conversion.h"
#include "cli/progress.h"
#include "trace/error.h"

namespace nanhunt::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kIncompleteStatus = 3;
constexpr char kParts[] = "parts";  // of a conversion: further capsules

// Segments, and what a killed writer left of one: the reader of traces knows what to say of it.
bool holds_segments(const fs::path& step) {
  for (const auto& entry : fs::directory_iterator(step)) {
    const std::string name = entry.path().filename().string();
    if (name.find("rank-") != std::string::npos && name.find(".h5") != std::string::npos) {
      return true;
    }
  }
  return false;
}

bool holds_trace(const fs::path& path) {
  if (!fs::is_directory(path)) return false;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (!entry.is_directory() || !entry.path().filename().string().starts_with("step-")) continue;
    if (holds_segments(entry.path())) return true;
  }
  return false;
}

// What the rules are asked about, and what must stay while they are.
struct Source {
  checkpoint::Checkpoint checkpoint;
  std::vector<checkpoint::Finding> known;  // what the capsule itself tells
  std::shared_ptr<const capsule::Capsule> capsule;
  std::shared_ptr<const Conversion> conversion;
};

std::string list_of(const std::vector<std::string>& files) {
  if (files.empty()) return "";
  const std::string more =
      files.size() > 1 ? " and " + std::to_string(files.size() - 1) + " more" : "";
  return files.front() + more;
}

void add_capsule(std::shared_ptr<const capsule::Capsule> capsule, const std::string& name,
                 const std::string& original, Source* source) {
  for (checkpoint::Finding& finding : checkpoint::replica_mismatches(*capsule, name))
    source->known.push_back(std::move(finding));
  checkpoint::add_capsule(std::move(capsule), name, original, &source->checkpoint);
}

void add_converted(const Converted& converted, Source* source) {
  for (const ConvertedCapsule& part : converted.capsules) {
    const auto capsule = std::make_shared<const capsule::Capsule>(part.folder);
    capsule->require_whole(true);
    add_capsule(capsule, list_of(part.files),
                part.by_rank.empty() ? list_of(part.files) : part.by_rank, source);
  }
  source->checkpoint.not_read = converted.not_read;
  source->checkpoint.notes.insert(source->checkpoint.notes.end(), converted.notes.begin(),
                                  converted.notes.end());
}

Source open_capsule(const std::string& text) {
  const capsule::Name name = capsule::parse_name(text);
  if (!capsule::holds_capsule(name.folder, name.step))
    throw trace::Error(trace::ErrorKind::kUsage, name.folder.string() + " is a trace, no state");
  Source source;
  source.capsule = std::make_shared<const capsule::Capsule>(name.folder, name.step);
  const std::string own =
      name.folder.filename().string() + "@" + std::to_string(source.capsule->step().step);
  add_capsule(source.capsule, own, own, &source);
  return source;
}

// Pickle files beside safetensors are read, too, where a Python is named.
Source open_source(const std::string& text, bool with_pickles, ProgressPrinter& progress) {
  const capsule::Name name = capsule::parse_name(text);
  const fs::path path = name.folder;
  const Scanned kind = name.step < 0 ? what_to_scan(path) : Scanned::kTrace;
  if (kind == Scanned::kTrace) return open_capsule(text);
  Source source;
  source.checkpoint.root = path;
  if (kind == Scanned::kCheckpoint) source.checkpoint = checkpoint::open_checkpoint(path);
  if (holds_conversion(path)) {
    add_converted(read_conversion(path), &source);
    return source;
  }
  const bool beside = kind == Scanned::kCheckpoint && with_pickles &&
                      !source.checkpoint.not_read.empty() && !named_python().empty();
  if (kind == Scanned::kPickles || beside) {
    progress.print({"reading pickle files by " + named_python()});
    source.conversion = std::make_shared<const Conversion>(path, kind == Scanned::kCheckpoint);
    add_converted(source.conversion->result(), &source);
  }
  return source;
}

void refuse_two_kinds(const Source& now, const Source& before) {
  if ((now.capsule == nullptr) == (before.capsule == nullptr)) return;
  throw trace::Error(trace::ErrorKind::kUsage,
                     "--before: one is a capsule and the other is none; python -m "
                     "nanhunt.checkpoint makes capsules of checkpoints");
}

checkpoint::Report report_on(const Parsed& parsed, const std::string& name, const Source& now,
                             ProgressPrinter& progress) {
  checkpoint::ScanOptions options;
  if (parsed.has("rules")) options.rules = checkpoint::read_rules_file(parsed.text("rules"));
  options.progress = [&](const std::string& file, int done, int total) {
    progress.print({"reading " + file, done, total});
  };
  if (!parsed.has("before"))
    return checkpoint::scan(name, now.checkpoint, nullptr, options, now.known);
  options.before = parsed.text("before");
  const Source before = open_source(parsed.text("before"), !parsed.flag("no-pickles"), progress);
  refuse_two_kinds(now, before);
  return checkpoint::scan(name, now.checkpoint, &before.checkpoint, options, now.known);
}

void print(const Parsed& parsed, const checkpoint::Report& report) {
  if (parsed.flag("json")) {
    std::printf("%s\n", checkpoint::to_json(report).dump(2).c_str());
  } else {
    std::fputs(checkpoint::to_text(report).c_str(), stdout);
  }
}

void require_older_is_there(const Parsed& parsed) {
  if (!parsed.has("before")) return;
  const fs::path path = capsule::parse_name(parsed.text("before")).folder;
  const std::string why = fs::exists(path) ? "" : path.string() + ": no such file or folder";
  try {
    if (why.empty()) what_to_scan(path);
  } catch (const trace::Error& error) {
    throw trace::Error(trace::ErrorKind::kUsage, "--before: " + std::string(error.what()));
  }
  if (!why.empty()) throw trace::Error(trace::ErrorKind::kUsage, "--before: " + why);
}

}  // namespace

Scanned what_to_scan(const fs::path& path) {
  if (holds_conversion(path) && fs::is_directory(path / kParts)) return Scanned::kPickles;
  if (!fs::exists(path) || holds_trace(path)) return Scanned::kTrace;
  if (checkpoint::holds_checkpoint(path)) return Scanned::kCheckpoint;
  if (checkpoint::holds_pickles(path) || holds_conversion(path)) return Scanned::kPickles;
  throw trace::Error(trace::ErrorKind::kUsage, checkpoint::why_no_checkpoint(path));
}

int scan_checkpoint(const Parsed& parsed, const std::string& path) {
  require_older_is_there(parsed);
  ProgressPrinter progress;
  const Source source = open_source(path, !parsed.flag("no-pickles"), progress);
  const checkpoint::Report report = report_on(parsed, path, source, progress);
  print(parsed, report);
  return compare::exit_status(report.kind);
}

int scan_capsule(const Parsed& parsed, const std::string& name) {
  require_older_is_there(parsed);
  ProgressPrinter progress;
  const Source source = open_capsule(name);
  const capsule::Report inventory = capsule::scan(*source.capsule, !parsed.flag("no-values"));
  checkpoint::Report report = report_on(parsed, name, source, progress);
  const bool incomplete = report.findings.empty() && !inventory.faults.empty();
  if (incomplete) {
    report.kind = compare::VerdictKind::kIncomplete;
    report.reason = inventory.faults.front().what;
  }
  const int status = incomplete ? kIncompleteStatus : compare::exit_status(report.kind);
  if (parsed.flag("json")) {
    nlohmann::json both = checkpoint::to_json(report);
    both.update(capsule::to_json(inventory));
    both["exit_status"] = status;
    std::printf("%s\n", both.dump(2).c_str());
  } else {
    std::fputs((capsule::to_text(inventory) + "\n").c_str(), stdout);
    print(parsed, report);
  }
  return status;
}

}  // namespace nanhunt::cli
