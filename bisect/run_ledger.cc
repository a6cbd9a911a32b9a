// SPDX-License-Identifier: Apache-2.0
#include "bisect/run_ledger.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "ablate/ledger.h"
#include "trace/error.h"

namespace nanhunt::bisect {
namespace {

using nlohmann::json;
using trace::Error;
using trace::ErrorKind;

constexpr int kVersion = 1;
constexpr const char* kFormat = "nanhunt bisect ledger";

// Names may hold bytes that are no UTF-8; they are known by the hash, which sees them all.
std::string dumped(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json header_of(const Items& items, const Words& command) {
  std::string names, words;
  for (const Item& item : items) names += item.name + "\n";
  for (const std::string& word : command) words += word + '\0';
  return {{"format", kFormat},
          {"version", kVersion},
          {"list", ablate::hash_of(names)},
          {"items", items.size()},
          {"first", items.front().name},
          {"last", items.back().name},
          {"command", ablate::hash_of(words)},
          {"words", quoted(command)}};
}

std::string list_text(const json& header) {
  return std::to_string(header.value("items", size_t{0})) + " items, " +
         header.value("first", std::string()) + " to " + header.value("last", std::string());
}

void check_header(const std::filesystem::path& file, const json& theirs, const json& ours) {
  if (!theirs.is_object() || theirs.value("format", json()) != kFormat) {
    throw Error(ErrorKind::kUnreadable, file.string() + ": no ledger of `nanhunt bisect`");
  }
  if (theirs.value("version", json()) != kVersion) {
    throw Error(ErrorKind::kUnreadable, file.string() + ": a ledger of version " +
                                            theirs.value("version", json()).dump() +
                                            "; this program reads " + std::to_string(kVersion));
  }
  if (theirs.value("list", json()) != ours["list"]) {
    throw Error(ErrorKind::kUsage, file.string() + ": the ledger of another list (" +
                                       list_text(theirs) + "); this one has " + list_text(ours));
  }
  if (theirs.value("command", json()) != ours["command"]) {
    throw Error(ErrorKind::kUsage, file.string() + ": the ledger of another command (" +
                                       theirs.value("words", std::string()) + "); this one is " +
                                       ours["words"].get<std::string>());
  }
}

const char* word_of(ablate::ChildEnd end) {
  switch (end) {
    case ablate::ChildEnd::kExited:
      return "exit";
    case ablate::ChildEnd::kSignalled:
      return "signal";
    case ablate::ChildEnd::kTimedOut:
      return "timeout";
    case ablate::ChildEnd::kNotStarted:
      break;
  }
  return "";
}

std::optional<ablate::ChildEnd> end_named(const std::string& word) {
  for (const auto end :
       {ablate::ChildEnd::kExited, ablate::ChildEnd::kSignalled, ablate::ChildEnd::kTimedOut}) {
    if (word == word_of(end)) return end;
  }
  return std::nullopt;
}

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

RunLedger::RunLedger(std::filesystem::path file, const Items& items, const Words& command)
    : file_(std::move(file)), items_(items) {
  descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw trace::cannot_write(file_);
  try {
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      throw Error(ErrorKind::kUsage, file_.string() + ": in use by another search");
    }
    read(dumped(header_of(items, command)));
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

RunLedger::~RunLedger() {
  ::close(descriptor_);
}

void RunLedger::read(const std::string& header) {
  const std::string text = text_of(file_);
  const size_t whole = text.rfind('\n') + 1;  // npos + 1 is 0
  if (whole == 0 && !header.starts_with(text)) check_header(file_, json(), json());
  const std::vector<std::string> lines = lines_of(text.substr(0, whole));
  if (!lines.empty()) {
    check_header(file_, json::parse(lines.front(), nullptr, false), json::parse(header));
  }
  for (size_t i = 1; i < lines.size(); ++i) read_run(lines[i], static_cast<int>(i + 1));
  if (whole < text.size() && ::ftruncate(descriptor_, static_cast<off_t>(whole)) != 0) {
    throw trace::cannot_write(file_);
  }
  if (lines.empty()) append(header);
}

void RunLedger::read_run(const std::string& line, int number) {
  try {
    const json run = json::parse(line);
    const auto end = end_named(run.at("end"));
    const size_t place = run.at("place").get<size_t>();
    if (!end || place >= items_.size()) throw std::out_of_range("a run of nothing");
    KnownRun known;
    known.outcome.end = *end;
    known.outcome.status = run.at("status");
    known.outcome.seconds = run.at("seconds");
    known.limit_s = run.at("limit_s");
    runs_[{place, run.at("run").get<int64_t>()}] = known;
  } catch (const std::exception& error) {
    throw Error(ErrorKind::kUnreadable,
                file_.string() + ":" + std::to_string(number) + ": no run: " + error.what());
  }
}

std::optional<KnownRun> RunLedger::find(size_t item, int64_t run) const {
  const auto found = runs_.find({item, run});
  return found == runs_.end() ? std::nullopt : std::optional(found->second);
}

void RunLedger::add(size_t item, int64_t run, const KnownRun& known) {
  append(dumped({{"place", item},
                 {"item", items_[item].name},
                 {"run", run},
                 {"end", word_of(known.outcome.end)},
                 {"status", known.outcome.status},
                 {"seconds", known.outcome.seconds},
                 {"limit_s", known.limit_s},
                 {"outcome", ablate::describe(known.outcome)}}));
  runs_[{item, run}] = known;
}

void RunLedger::append(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(descriptor_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw trace::cannot_write(file_);
  }
}

}  // namespace nanhunt::bisect
