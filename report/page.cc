// SPDX-License-Identifier: Apache-2.0
#include "report/page.h"

#include "report/body.h"
#include "report/resources.h"
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

// One script, the common part first.
std::string plot_scripts() {
  std::string text;
  for (const std::string_view script :
       {plots_js(), error_plot_js(), loss_plot_js(), curve_plot_js(), interval_plot_js()}) {
    text += script;
  }
  return text + "nanhunt.start();\n";
}

// A template inside another: {{>name}}.
Data part(std::string_view html) {
  NANHUNT_CHECK(kainjow::mustache::mustache(std::string(html)).is_valid());
  return Data(kainjow::mustache::partial([html] { return std::string(html); }));
}

}  // namespace

std::string to_html(const Content& content) {
  Body body = std::visit([](const auto& result) { return body_of(result); }, content);
  Data& data = body.data;
  data.set("body", part(body.html));
  data.set("convergence_part", part(convergence_html()));
  data.set("style", std::string(page_css()));
  data.set("library", std::string(chart_js()));
  data.set("script", plot_scripts());
  data.set("data", script_json(body.plots));
  kainjow::mustache::mustache page{std::string(page_html())};
  NANHUNT_CHECK(page.is_valid());
  return page.render(data);
}

}  // namespace nanhunt::report
