// SPDX-License-Identifier: Apache-2.0
#include "ablate/runner.h"

#include <cstdint>
#include <cstring>
#include <fstream>

#include "trace/error.h"
#include "trace/trace_reader.h"

extern char** environ;

namespace nanhunt::ablate {
namespace {

constexpr const char* kTracePlaceholder = "TRACE";
// Less than this is a full disk to a run that could write nothing.
constexpr std::uintmax_t kRoomForARun = 16 << 20;

bool is_trace(const std::filesystem::path& folder) {
  try {
    const trace::TraceReader readable(folder);
    return true;
  } catch (const trace::Error&) {
    return false;
  }
}

std::filesystem::path make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw trace::Error(trace::ErrorKind::kInternal,
                       folder.string() + ": cannot be made: " + error.message());
  }
  return std::filesystem::absolute(folder);
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream stream(path);
  stream << text << std::flush;
  if (!stream) throw trace::cannot_write(path);
}

// Variables of ours that the children inherit; they may change what a run does.
std::string inherited_settings() {
  std::string text;
  for (char** variable = environ; *variable; ++variable) {
    const std::string entry = *variable;
    if (entry.starts_with("NANHUNT_") && !entry.starts_with("NANHUNT_CAPTURE="))
      text += entry + "\n";
  }
  return text;
}

}  // namespace

std::string Run::complaint() const {
  const std::string last = tail_of(folder / "stderr.txt", 1);
  return describe(outcome) + (last.empty() ? "" : ": " + last);
}

std::string Run::capture_failure(const std::filesystem::path& last) const {
  std::ifstream stream(folder / "stderr.txt");
  const std::string prefix = "nanhunt: ";
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with(prefix + "capture stopped")) return line.substr(prefix.size());
  }
  if (!ended_well()) return "";  // its status speaks for itself
  std::error_code error;
  const auto space = std::filesystem::space(folder, error);
  if (error || space.available >= kRoomForARun || is_trace(last)) return "";
  return "no trace at " + last.string() + ": No space left on device but for " +
         std::to_string(space.available) + " bytes";
}

bool Run::left_trace() const {
  return is_trace(trace);
}

Runner::Runner(ChildRunner& children, Subject subject, std::filesystem::path build,
               std::filesystem::path work, std::map<std::string, std::string> environment,
               ProgressSink progress)
    : children_(children),
      subject_(std::move(subject)),
      build_(std::move(build)),
      work_(make_folder(work)),
      environment_(std::move(environment)),
      progress_(std::move(progress)),
      ledger_(work_ / "ledger.jsonl") {}

void Runner::say(const Progress& progress) const {
  if (progress_) progress_(progress);
}

std::string Runner::program_of(const RunRequest& request) const {
  const CommandLine line = command_line(
      subject_, request.settings, {build_, request.steps, kTracePlaceholder, {}, request.capsules});
  std::string text = program_identity(line) + inherited_settings();
  for (const std::string& word : line.words) text += word + "\n";
  for (const auto& [name, value] : line.environment) text += name + "=" + value + "\n";
  trace::CapturePlan plan = request.plan;
  plan.out = kTracePlaceholder;
  return text + trace::to_json(plan);
}

std::string Runner::key_of(const RunRequest& request) const {
  std::string text = program_of(request);
  for (const auto& [name, value] : environment_) text += name + "=" + value + "\n";
  if (request.again > 0) text += "again " + std::to_string(request.again) + "\n";
  return hash_of(text);
}

Run Runner::run(const RunRequest& request) {
  const std::string key = key_of(request);
  std::promise<Run> mine;
  std::shared_future<Run> result;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = running_.find(key);
    first = found == running_.end();
    result = first ? running_[key] = mine.get_future().share() : found->second;
  }
  if (first) {
    try {
      mine.set_value(start(request, key));
    } catch (...) {
      mine.set_exception(std::current_exception());
    }
  }
  return result.get();
}

Run Runner::start(const RunRequest& request, const std::string& key) {
  Run run;
  run.key = key;
  run.folder = work_ / "runs" / key;
  run.trace = run.folder / "trace";
  const auto known = ledger_.find(key);
  if (known && std::filesystem::is_directory(run.trace)) {
    run.outcome = known->outcome;
    run.cached = true;
    return run;
  }
  std::error_code ignored;
  std::filesystem::remove_all(run.folder, ignored);
  make_folder(run.folder);
  // A program without hooks may put there what it likes; and that it ran shows by the folder.
  if (subject_.failure != FailureTest::kVerdict) make_folder(run.trace);
  trace::CapturePlan plan = request.plan;
  plan.out = run.trace;
  write_file(run.folder / "plan.json", trace::to_json(plan));

  const CommandLine line = command_line(
      subject_, request.settings, {build_, request.steps, run.trace, run.folder, request.capsules});
  ChildSpec child{line.words, environment_, run.folder / "stdout.txt", run.folder / "stderr.txt",
                  request.timeout_s};
  child.environment.insert(line.environment.begin(), line.environment.end());
  child.environment["NANHUNT_CAPTURE"] = (run.folder / "plan.json").string();
  ++started_;
  run.outcome = children_.run(child);
  // Only a run that ended by itself is final: what was killed or timed out may end otherwise next
  // time.
  if (run.outcome.end == ChildEnd::kExited) {
    ledger_.add({key, request.purpose, describe(subject_, request.settings), run.outcome});
  }
  return run;
}

CheckRun Runner::check(const RunRequest& request, const Run& run) {
  const auto output = run.folder / "check-stdout.txt", errors = run.folder / "check-stderr.txt";
  const std::vector<std::string> words =
      check_words(subject_, request.settings, {build_, request.steps, run.trace, run.folder});
  CheckRun check;
  check.outcome = children_.run({words, {}, output, errors, request.timeout_s});
  check.last_line = tail_of(errors, 1);
  if (check.last_line.empty()) check.last_line = tail_of(output, 1);
  return check;
}

std::filesystem::path own_build_folder() {
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return program.parent_path().parent_path();
}

}  // namespace nanhunt::ablate
