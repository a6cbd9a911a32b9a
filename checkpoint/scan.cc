// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/scan.h"

#include <algorithm>

#include "checkpoint/rule.h"

namespace nanhunt::checkpoint {
namespace {

Examined examine_all(const Checkpoint& checkpoint, const ScanOptions& options) {
  Examined examined;
  examined.checkpoint = &checkpoint;
  int done = 0;
  for (const CheckpointFile& file : checkpoint.files) {
    if (options.progress) {
      options.progress(file.name, done++, static_cast<int>(checkpoint.files.size()));
    }
    const TensorData data(file.header);
    for (size_t i = 0; i < file.header.tensors.size(); ++i) {
      const TensorEntry& tensor = file.header.tensors[i];
      examined.tensors.push_back({&file, &tensor,
                                  file.kinds.empty() ? kind_of(tensor) : file.kinds[i],
                                  file.facts.empty() ? examine(data, tensor) : file.facts[i]});
    }
  }
  return examined;
}

Coverage coverage_of(const Examined& examined) {
  Coverage coverage;
  coverage.files = static_cast<int64_t>(examined.checkpoint->files.size());
  coverage.not_read = examined.checkpoint->not_read;
  coverage.not_named = examined.checkpoint->not_named;
  coverage.notes = examined.checkpoint->notes;
  for (const Held& held : examined.tensors) {
    ++coverage.tensors;
    coverage.elements += held.tensor->elements;
    coverage.bytes += held.tensor->bytes;
    ++coverage.dtypes[std::string(held.tensor->type->name)];
  }
  return coverage;
}

void judge(const Evidence& evidence, Report* report) {
  for (const Rule& rule : rule_list()) {
    RuleResult result = rule.judge(evidence);
    for (Finding& finding : result.findings) {
      if (evidence.rules.accepts(finding.rule, finding.tensor)) {
        ++report->coverage.accepted;
      } else {
        report->findings.push_back(std::move(finding));
      }
    }
    for (std::string& note : result.notes) report->coverage.notes.push_back(std::move(note));
  }
  std::stable_partition(report->findings.begin(), report->findings.end(), [](const Finding& one) {
    return one.severity == oracle::Severity::kProven;
  });
}

void conclude(Report* report) {
  if (!report->findings.empty()) {
    report->kind = report->findings.front().rule == "non_finite"
                       ? compare::VerdictKind::kNonFinite
                       : compare::VerdictKind::kDivergence;
  } else if (report->coverage.elements == 0) {
    report->reason = "no element in any tensor: nothing was judged";
  } else {
    report->kind = compare::VerdictKind::kClean;
  }
}

}  // namespace

Report scan(const std::string& name, const Checkpoint& now, const Checkpoint* before,
            const ScanOptions& options, std::vector<Finding> known) {
  const Examined examined = examine_all(now, options);
  Examined older;
  if (before != nullptr) older = examine_all(*before, options);
  Report report;
  report.checkpoint = name;
  report.before = options.before.string();
  report.rules = options.rules.name;
  report.coverage = coverage_of(examined);
  report.findings = std::move(known);
  judge({examined, before != nullptr ? &older : nullptr, options.rules}, &report);
  conclude(&report);
  return report;
}

Report scan(const std::filesystem::path& path, const ScanOptions& options) {
  // Both are read whole before any data, so that a bad header is told at once.
  const Checkpoint now = open_checkpoint(path);
  if (options.before.empty()) return scan(path.string(), now, nullptr, options);
  const Checkpoint older = open_checkpoint(options.before);
  return scan(path.string(), now, &older, options);
}

}  // namespace nanhunt::checkpoint
