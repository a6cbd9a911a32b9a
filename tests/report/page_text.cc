// SPDX-License-Identifier: Apache-2.0
#include "tests/report/page_text.h"

#include <gtest/gtest.h>

namespace nanhunt::report::test {

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  }
  return result;
}

std::string shown(const std::string& html) {
  const size_t body = html.find("<body>"), end = html.find("<script type=");
  EXPECT_NE(body, std::string::npos);
  EXPECT_NE(end, std::string::npos);
  return html.substr(body, end - body);
}

std::string section(const std::string& html, const std::string& id) {
  const size_t begin = html.find("<section id=\"" + id + "\">");
  EXPECT_NE(begin, std::string::npos) << id;
  return begin == std::string::npos ? ""
                                    : html.substr(begin, html.find("</section>", begin) - begin);
}

}  // namespace nanhunt::report::test
