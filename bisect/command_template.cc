// SPDX-License-Identifier: Apache-2.0
#include "bisect/command_template.h"

#include <boost/program_options/parsers.hpp>

#include "trace/error.h"

namespace nanhunt::bisect {
namespace {

const std::string kPlaceholder = "{item}";

Words split(const std::string& line) {
  try {
    return boost::program_options::split_unix(line);
  } catch (const std::exception& error) {
    throw trace::Error(trace::ErrorKind::kUsage,
                       "the command cannot be split: " + std::string(error.what()));
  }
}

}  // namespace

Words command_template(const Words& written) {
  const Words words = written.size() == 1 ? split(written.front()) : written;
  if (words.empty() || words.front().empty()) {
    throw trace::Error(trace::ErrorKind::kUsage,
                       "`nanhunt bisect` needs a command: ... -- COMMAND ARG {item}");
  }
  return words;
}

Words filled(const Words& command, const std::string& item) {
  Words words = command;
  for (std::string& word : words) {
    for (size_t at = 0; (at = word.find(kPlaceholder, at)) != std::string::npos;
         at += item.size()) {
      word.replace(at, kPlaceholder.size(), item);
    }
  }
  return words;
}

}  // namespace nanhunt::bisect
