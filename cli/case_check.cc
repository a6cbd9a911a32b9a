// SPDX-License-Identifier: Apache-2.0
#include "cli/case_check.h"

#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>

#include "ablate/hunt.h"
#include "ablate/own_failure.h"
#include "cli/case_options.h"
#include "cli/fault_draw.h"
#include "cli/paired_options.h"
#include "cli/plant.h"
#include "cli/trace_pairs.h"
#include "repro/question.h"
#include "trace/error.h"

namespace nanhunt::cli {
namespace {

constexpr const char* kRanksToggle = "launch.ranks";

// A case as the check runs it: with the fault or without.
struct Variant {
  ablate::Case the_case;
  oracle::Thresholds thresholds;
  std::unique_ptr<ablate::Runner> runner;
  std::unique_ptr<ablate::Bench> bench;
};

std::unique_ptr<Variant> make_variant(const std::filesystem::path& case_file,
                                      const CheckOptions& options, const std::string& folder,
                                      bool with_fault, ablate::ChildRunner& children) {
  auto variant = std::make_unique<Variant>();
  variant->the_case = ablate::read_case(case_file);
  variant->thresholds = options.thresholds;
  for (const auto& [key, value] : variant->the_case.thresholds) {
    variant->thresholds.override_with(key, value);
  }
  std::map<std::string, std::string> environment;
  if (with_fault) environment = plant(case_file, options.seed, options.work);
  variant->runner =
      std::make_unique<ablate::Runner>(children, variant->the_case.subject, options.build,
                                       options.work / folder, environment, ablate::ProgressSink());
  ablate::BenchOptions bench;
  bench.envelopes = options.work / "envelopes";
  bench.repeats = ablate::calibration_repeats(variant->the_case, variant->thresholds);
  variant->bench = std::make_unique<ablate::Bench>(variant->the_case, variant->thresholds,
                                                   *variant->runner, bench);
  return variant;
}

FieldScore flat_score(const std::string& field, const std::string& difference) {
  return {field, "equal", difference.empty() ? "equal" : difference, difference.empty()};
}

// Fills a row; whatever is thrown becomes a failed score.
CheckRow timed(const std::string& name, const std::string& drawn,
               const std::function<void(CheckRow&)>& body) {
  CheckRow row;
  row.name = name;
  row.drawn = drawn;
  const auto started = std::chrono::steady_clock::now();
  try {
    body(row);
  } catch (const std::exception& error) {
    row.scores.push_back({"hunt", "a verdict", error.what(), false});
  }
  row.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return row;
}

// Whom the ranks of an expectation are looked up with; a subject may have left no trace.
std::vector<trace::RunFacts> facts_of(const ablate::Run& run) {
  if (!run.left_trace()) return {};
  return trace::TraceReader(run.trace).facts();
}

void score_hunt(CheckRow& row, const Expectation& expectation, const ablate::Hunt& hunt) {
  row.thresholds_sha256 = hunt.verdict.thresholds_sha256;
  row.scores = score(expectation, hunt.verdict, facts_of(hunt.candidate), facts_of(hunt.reference));
}

// The failing run again with ranks as processes: the same verdict, and equal value digests.
void score_processes(CheckRow& row, Variant& variant, const ablate::Hunt& hunt,
                     Expectation expectation) {
  ablate::Settings settings = variant.the_case.failing;
  ablate::set_value(variant.the_case.subject, settings, kRanksToggle, "processes");
  const ablate::Run run =
      variant.runner->run(variant.bench->request("process ranks", settings, hunt.scope));
  const compare::Verdict verdict = variant.bench->judge(run, hunt.reference, hunt.scope);
  row.thresholds_sha256 = verdict.thresholds_sha256;
  expectation.fields.erase("cause");  // no ablation is made again
  const trace::TraceReader processes(run.trace), threads(hunt.candidate.trace);
  row.scores = score(expectation, verdict, processes.facts(),
                     trace::TraceReader(hunt.reference.trace).facts());
  row.scores.push_back(flat_score("digests", digest_difference(threads, processes)));
}

repro::Report report_on(const Variant& variant, bool curves) {
  std::optional<repro::PairedPlan> plan;
  // How many really run at a time, the runner of the children says.
  if (curves) plan = paired_plan(variant.the_case, std::nullopt, default_jobs());
  return repro::answer(variant.the_case.repro, *variant.bench, variant.thresholds, std::nullopt,
                       plan);
}

// Of a twin: in the same layout bit for bit.
Expectation holding(const ablate::Case& the_case, bool curves) {
  const bool layouts = the_case.repro == ablate::Question::kLayouts;
  Expectation all{
      {{"state", "equal"}, {"replay", layouts ? "within" : "equal"}, {"parts", "none"}}};
  if (curves) all.fields["convergence"] = "within";
  return all;
}

// A case of `nanhunt repro`: its levels; and without the fault, all that are scored hold. Runs of
// several seeds are made where level convergence is expected to say something.
std::vector<CheckRow> check_repro(const std::filesystem::path& case_file,
                                  const CheckOptions& options, const Expectation& expectation,
                                  const std::string& drawn, ablate::ChildRunner& children) {
  const std::string name = case_file.stem().string();
  const bool curves = expectation.fields.contains("convergence");
  const Expectation equal = holding(ablate::read_case(case_file), curves);
  const auto check = [&](const std::string& folder, bool with_fault, const Expectation& expected) {
    return [&, folder, with_fault](CheckRow& row) {
      const auto variant = make_variant(case_file, options, folder, with_fault, children);
      const repro::Report report = report_on(*variant, curves);
      row.thresholds_sha256 = report.thresholds_sha256;
      row.scores = score(expected, report);
    };
  };
  return {timed(name, drawn, check("drawn", true, expectation)),
          timed(name + " twin", "no fault", check("twin", false, equal))};
}

}  // namespace

std::vector<CheckRow> check_case(const std::filesystem::path& case_file,
                                 const CheckOptions& options, ablate::ChildRunner& children) {
  const std::string name = case_file.stem().string();
  const DrawnFault fault = read_fault(case_file, options.seed);
  Expectation expectation = read_expectation(case_file, fault.numbers);
  if (!options.ablate) expectation.fields.erase("cause");
  const std::string drawn = describe(fault);
  if (is_about_repro(expectation))
    return check_repro(case_file, options, expectation, drawn, children);
  std::vector<CheckRow> rows;
  std::unique_ptr<Variant> failing;
  std::optional<ablate::Hunt> hunt;
  rows.push_back(timed(name, drawn, [&](CheckRow& row) {
    failing = make_variant(case_file, options, "drawn", true, children);
    hunt = ablate::hunt(
        *failing->bench,
        {.jobs = options.jobs, .ablate = expectation.fields.contains("cause"), .case_name = name});
    score_hunt(row, expectation, *hunt);
    if (fault.name.empty()) return;
    const std::string told = file_that_holds(failing->runner->work() / "runs", fault.name);
    row.scores.push_back({"traces", "tell nothing of the fault",
                          told.empty() ? "tell nothing of the fault" : told, told.empty()});
  }));
  const auto subject = ablate::read_case(case_file).subject;
  const bool itself = ablate::tells_failure_itself(subject);
  if (subject.find_toggle(kRanksToggle) && !itself) {
    rows.push_back(timed(name + " processes", drawn, [&](CheckRow& row) {
      if (!hunt) throw trace::Error(trace::ErrorKind::kInternal, "there is no hunt to repeat");
      score_processes(row, *failing, *hunt, expectation);
    }));
  }
  if (fault.name.empty()) return rows;
  rows.push_back(timed(name + " twin", "no fault", [&](CheckRow& row) {
    const auto twin = make_variant(case_file, options, "twin", false, children);
    score_hunt(
        row, itself ? passing_expectation() : clean_expectation(),
        ablate::hunt(*twin->bench, {.jobs = options.jobs, .ablate = false, .case_name = name}));
  }));
  return rows;
}

std::string to_text(const CheckRow& row) {
  char head[256];
  std::snprintf(head, sizeof head, "%-4s %-40s %6.1f s  thresholds %.12s  %s\n",
                row.passed() ? "pass" : "FAIL", row.name.c_str(), row.seconds,
                row.thresholds_sha256.c_str(), row.drawn.c_str());
  std::string text = head;
  for (const FieldScore& each : row.scores) {
    text += std::string(each.same ? "       " : "     ! ") + each.field + ": " + each.expected;
    text += " | got " + each.got + "\n";
  }
  return text;
}

}  // namespace nanhunt::cli
