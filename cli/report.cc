// SPDX-License-Identifier: Apache-2.0
#include <boost/program_options.hpp>
#include <cstdio>
#include <fstream>

#include "cli/command.h"
#include "cli/options.h"
#include "report/page.h"
#include "trace/error.h"

namespace nanhunt::cli {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

// Beside the JSON: verdict.json becomes verdict.html.
fs::path page_of(const Parsed& parsed, const report::Result& result) {
  if (parsed.has("out")) return parsed.text("out");
  return fs::path(result.file).replace_extension(".html");
}

// Has its name when it is whole.
void write_page(const fs::path& file, const std::string& html) {
  if (fs::is_directory(file)) {
    throw trace::Error(trace::ErrorKind::kUsage, "--out: " + file.string() + " is a folder");
  }
  const fs::path partial = file.string() + ".part";
  std::ofstream stream(partial, std::ios::binary);
  stream << html << std::flush;
  if (!stream) throw trace::cannot_write(partial);
  stream.close();
  fs::rename(partial, file);
}

}  // namespace

int report_command(const std::vector<std::string>& arguments) {
  po::options_description options("options");
  options.add_options()("out", po::value<std::string>()->value_name("FILE.html"),
                        "the page (default: beside the JSON of the result)");
  const Parsed parsed = parse_options("report", arguments, options, {"RESULT"});
  if (parsed.wants_help) return 0;
  const report::Result result = report::read_result(parsed.text("RESULT"));
  const fs::path file = page_of(parsed, result);
  write_page(file, report::to_html(result.content));
  std::printf("%s\n", file.c_str());
  return 0;
}

}  // namespace nanhunt::cli
