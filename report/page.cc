// SPDX-License-Identifier: Apache-2.0
#include "report/page.h"

#include <nlohmann/json.hpp>

#include "report/error_plot.h"
#include "report/loss_plot.h"
#include "report/resources.h"
#include "report/sections.h"
#include "trace/check.h"

namespace nanhunt::report {
namespace {

using nlohmann::json;

// JSON for a <script> element, whose content ends at "</script" and changes meaning at "<!--".
// Bytes that are no UTF-8 become U+FFFD.
std::string script_json(const json& value) {
  std::string text;
  for (const char c : value.dump(-1, ' ', false, json::error_handler_t::replace)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string to_html(const Result& result) {
  const json error = error_plot(result.verdict);
  const json loss = loss_plot(result.verdict);
  Data data = sections(result);
  data.set("style", std::string(page_css()));
  data.set("library", std::string(chart_js()));
  data.set("script", std::string(page_js()));
  data.set("data", script_json({{"error", error}, {"loss", loss}}));
  data.set("has_error", Data(!error["points"].empty()));
  data.set("has_loss", Data(!loss["series"].empty()));
  kainjow::mustache::mustache page{std::string(page_html())};
  NANHUNT_CHECK(page.is_valid());
  return page.render(data);
}

}  // namespace nanhunt::report
