// SPDX-License-Identifier: Apache-2.0
// The loss curves that docs/convergence.md judges: a falling loss with noise of its own for each
// seed, drawn from fixed seeds.
//
//   write_example_curves FOLDER [SHIFT]    SHIFT is added to all losses of side B; default 0
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr int kSteps = 100, kSeeds = 5, kSame = 8, kLostAt = 72;
constexpr double kSpread = 0.004;  // of a run's height, under any change

class Draws {
 public:
  explicit Draws(uint64_t seed) : random_(seed) {}
  double normal(double deviation) { return deviation * normal_(random_); }

 private:
  boost::random::mt19937_64 random_;
  boost::random::normal_distribution<double> normal_;
};

std::vector<double> falling_loss(Draws& draws) {
  const double height = draws.normal(0.05);
  std::vector<double> losses;
  for (int step = 0; step < kSteps; ++step) {
    losses.push_back(2 + height + 4 / (1 + step / 10.0) + draws.normal(0.03));
  }
  return losses;
}

// The same run once more, a little other from step to step and as a whole.
std::vector<double> perturbed(const std::vector<double>& losses, double shift, Draws& draws) {
  const double height = shift + draws.normal(kSpread);
  std::vector<double> others;
  for (const double loss : losses) others.push_back(loss + height + draws.normal(0.005));
  return others;
}

void write(const fs::path& path, const std::vector<double>& losses, int lost_at = kSteps) {
  std::ofstream file(path);
  for (int step = 0; step < kSteps; ++step) {
    char loss[32] = "NaN";
    if (step < lost_at) std::snprintf(loss, sizeof loss, "%.6f", losses[static_cast<size_t>(step)]);
    file << "{\"step\": " << step << ", \"loss\": " << loss << "}\n";
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 2;
  const fs::path folder = arguments[1];
  const double shift = count > 2 ? std::atof(arguments[2]) : 0;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    Draws draws(static_cast<uint64_t>(seed));
    const auto a = falling_loss(draws);
    const auto b = perturbed(a, shift, draws);
    const std::string name = std::to_string(seed) + ".jsonl";
    write(folder / ("bf16-" + name), a);
    write(folder / ("fp8-" + name), b);
    if (seed == kSeeds) write(folder / ("fp8-lost-" + name), b, kLostAt);
    write(folder / ("fp8-bug-" + name), perturbed(a, 0.05, draws));
  }
  for (int pair = 1; pair <= kSame; ++pair) {
    Draws draws(static_cast<uint64_t>(100 + pair));
    const auto a = falling_loss(draws);
    const std::string name = std::to_string(pair) + ".jsonl";
    write(folder / ("same-" + name), a);
    write(folder / ("ulp-" + name), perturbed(a, 0, draws));
  }
  return 0;
}
