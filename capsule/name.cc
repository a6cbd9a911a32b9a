// SPDX-License-Identifier: Apache-2.0
#include "capsule/name.h"

#include <charconv>
#include <system_error>

#include "trace/error.h"

namespace nanhunt::capsule {

Name parse_name(const std::string& text) {
  const size_t at = text.rfind('@');
  if (at == std::string::npos || std::filesystem::exists(text)) return {text, -1};
  Name name{text.substr(0, at), -1};
  const char *begin = text.data() + at + 1, *end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(begin, end, name.step);
  if (error != std::errc() || rest != end || name.step < 0) {
    throw trace::Error(trace::ErrorKind::kUsage,
                       "'" + text + "' is no capsule; write FOLDER or FOLDER@STEP");
  }
  return name;
}

}  // namespace nanhunt::capsule
