// SPDX-License-Identifier: Apache-2.0
#include "bisect/statuses.h"

#include <charconv>
#include <csignal>
#include <cstring>

#include "trace/check.h"
#include "trace/error.h"

namespace nanhunt::bisect {
namespace {

constexpr int kUntestableStatus = 125;
constexpr int kFirstSignal = 128;
constexpr int kMostStatus = 255;

[[noreturn]] void refuse(const std::string& word, const std::string& why) {
  throw trace::Error(trace::ErrorKind::kUsage, "--bad: '" + word + "' " + why);
}

std::optional<int> number_of(const std::string& text) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

std::optional<int> signal_named(const std::string& name) {
  for (int number = 1; number < NSIG; ++number) {
    const char* short_name = ::sigabbrev_np(number);
    if (short_name && name == std::string("SIG") + short_name) return number;
  }
  return std::nullopt;
}

void add_range(std::set<int>& statuses, const std::string& word, int first, int last) {
  if (first < 1 || last > kMostStatus || first > last) {
    refuse(word, "is no range of statuses from 1 to 255; 0 is always good");
  }
  for (int status = first; status <= last; ++status) {
    // A range over it, like 1..127, is meant as git means it.
    if (status != kUntestableStatus) statuses.insert(status);
  }
}

void add_word(std::set<int>& statuses, const std::string& word) {
  if (word == "signals") return add_range(statuses, word, kFirstSignal + 1, kMostStatus);
  if (const auto signal = signal_named(word)) {
    statuses.insert(kFirstSignal + *signal);
    return;
  }
  const size_t dots = word.find("..");
  const auto first = number_of(word.substr(0, dots));
  const auto last = dots == std::string::npos ? first : number_of(word.substr(dots + 2));
  if (!first || !last) {
    refuse(word, "is no status, range (1..124), signal (SIGSEGV) or `signals`");
  }
  if (*first == kUntestableStatus && *last == kUntestableStatus) {
    refuse(word, "always means that an item cannot be tested");
  }
  add_range(statuses, word, *first, *last);
}

}  // namespace

Meaning meaning_of(const StatusTable& table, const ablate::ChildOutcome& outcome) {
  NANHUNT_CHECK(outcome.end != ablate::ChildEnd::kNotStarted);
  if (outcome.end == ablate::ChildEnd::kTimedOut) return table.timeout;
  const int status =
      outcome.end == ablate::ChildEnd::kSignalled ? kFirstSignal + outcome.status : outcome.status;
  if (status == 0) return Meaning::kGood;
  if (status == kUntestableStatus) return Meaning::kUntestable;
  if (table.bad) return table.bad->contains(status) ? Meaning::kBad : Meaning::kUntestable;
  return status < kFirstSignal ? Meaning::kBad : Meaning::kStop;
}

std::set<int> parse_statuses(const std::string& text) {
  std::set<int> statuses;
  size_t start = 0;
  while (start <= text.size()) {
    const size_t comma = std::min(text.find(',', start), text.size());
    add_word(statuses, text.substr(start, comma - start));
    start = comma + 1;
  }
  return statuses;
}

}  // namespace nanhunt::bisect
