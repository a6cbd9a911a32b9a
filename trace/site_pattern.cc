// SPDX-License-Identifier: Apache-2.0
#include "trace/site_pattern.h"

#include <algorithm>
#include <span>

#include "trace/rules_file.h"

namespace nanhunt::trace {
namespace {

using Parts = std::vector<std::string>;

Parts split(const std::string& name) {
  Parts parts;
  for (size_t start = 0; start <= name.size();) {
    const size_t end = std::min(name.find('.', start), name.size());
    parts.push_back(name.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

std::string join(std::span<const std::string> parts) {
  std::string name;
  for (const std::string& part : parts) {
    if (!name.empty()) name += '.';
    name += part;
  }
  return name;
}

// Shortest match of "**" first, so that the captures are the same on every call.
bool match(std::span<const std::string> pattern, std::span<const std::string> site,
           Parts* captures) {
  if (pattern.empty()) return site.empty();
  const std::string& head = pattern.front();
  if (head == "**") {
    for (size_t taken = 0; taken <= site.size(); ++taken) {
      captures->push_back(join(site.first(taken)));
      if (match(pattern.subspan(1), site.subspan(taken), captures)) return true;
      captures->pop_back();
    }
    return false;
  }
  if (site.empty()) return false;
  if (head != "*") {
    return head == site.front() && match(pattern.subspan(1), site.subspan(1), captures);
  }
  captures->push_back(site.front());
  if (match(pattern.subspan(1), site.subspan(1), captures)) return true;
  captures->pop_back();
  return false;
}

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

// Calls text(piece) and capture(number) along the target; a "$" without digits has number 0.
template <typename Text, typename Capture>
void walk_target(const std::string& target, Text text, Capture capture) {
  for (size_t i = 0; i < target.size();) {
    if (target[i] != '$') {
      const size_t end = std::min(target.find('$', i), target.size());
      text(target.substr(i, end - i));
      i = end;
      continue;
    }
    size_t number = 0;
    for (++i; i < target.size() && is_digit(target[i]) && number < 1000; ++i) {
      number = 10 * number + static_cast<size_t>(target[i] - '0');
    }
    capture(number);
  }
}

}  // namespace

bool match_site(const std::string& pattern, const std::string& site, Parts* captures) {
  Parts found;
  const bool fits = match(split(pattern), split(site), &found);
  if (captures != nullptr) *captures = fits ? std::move(found) : Parts{};
  return fits;
}

size_t count_stars(const std::string& pattern) {
  const Parts parts = split(pattern);
  return static_cast<size_t>(std::count_if(
      parts.begin(), parts.end(), [](const auto& part) { return part == "*" || part == "**"; }));
}

std::string target_fault(const std::string& target, size_t stars) {
  std::string fault;
  walk_target(
      target, [](const std::string&) {},
      [&](size_t number) {
        if (number >= 1 && number <= stars) return;
        if (number == 0) {
          fault = "\"$\" must be followed by the number of a star, from 1";
          return;
        }
        fault = "no star number " + std::to_string(number) + " in the pattern, which has " +
                std::to_string(stars);
      });
  return fault;
}

std::string fill_target(const std::string& target, const Parts& captures) {
  std::string filled;
  walk_target(
      target, [&](const std::string& piece) { filled += piece; },
      [&](size_t number) { filled += captures.at(number - 1); });
  Parts parts = split(filled);
  std::erase_if(parts, [](const std::string& part) { return part.empty(); });
  return join(parts);
}

}  // namespace nanhunt::trace
