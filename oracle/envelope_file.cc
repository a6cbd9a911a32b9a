// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <nlohmann/json.hpp>

#include "oracle/envelope.h"
#include "trace/error.h"

namespace nanhunt::oracle {
namespace {

using nlohmann::json;

Metric metric_from(const std::string& name) {
  for (int i = 0; i < kMetrics; ++i) {
    if (name == name_of(static_cast<Metric>(i))) return static_cast<Metric>(i);
  }
  throw std::invalid_argument("metric " + name);
}

PoolKey key_from(const json& entry) {
  const auto phase = trace::phase_from_name(entry.at("phase").get<std::string>());
  if (!phase) throw std::invalid_argument("phase " + entry.at("phase").dump());
  return {entry.at("site"), *phase, entry.at("role"), entry.at("step"),
          metric_from(entry.at("metric"))};
}

}  // namespace

void write_envelope(const Envelope& envelope, const std::filesystem::path& path) {
  json pools = json::array();
  for (const auto& [key, pool] : envelope.pools) {
    pools.push_back({{"site", key.site},
                     {"phase", trace::name_of(key.phase)},
                     {"role", key.role},
                     {"step", key.step},
                     {"metric", name_of(key.metric)},
                     {"samples", pool.samples},
                     {"mean_square", pool.mean_square},
                     {"relative_variance", pool.relative_variance},
                     {"kind_freedom", pool.kind_freedom},
                     {"largest", pool.largest}});
  }
  const auto part = path.string() + ".part";
  std::ofstream file(part);
  file << json{{"nanhunt_envelope", kEnvelopeVersion}, {"key", envelope.key}, {"pools", pools}}
              .dump(1)
       << "\n";
  file.close();
  std::error_code failed;
  if (file) std::filesystem::rename(part, path, failed);
  if (!file || failed) {
    const trace::Error error = trace::cannot_write(path);
    std::filesystem::remove(part, failed);
    throw error;
  }
}

Envelope read_envelope(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw trace::Error(trace::ErrorKind::kUsage, path.string() + ": cannot be read");
  try {
    const json document = json::parse(file);
    if (document.at("nanhunt_envelope") != kEnvelopeVersion)
      throw std::invalid_argument("of another version of nanhunt: calibrate again");
    Envelope envelope;
    envelope.key = document.at("key");
    for (const auto& entry : document.at("pools")) {
      envelope.pools[key_from(entry)] = {entry.at("samples"), entry.at("mean_square"),
                                         entry.at("relative_variance"), entry.at("kind_freedom"),
                                         entry.at("largest")};
    }
    return envelope;
  } catch (const std::exception& fault) {
    throw trace::Error(trace::ErrorKind::kUsage,
                       path.string() + ": not an envelope file (" + fault.what() + ")");
  }
}

}  // namespace nanhunt::oracle
