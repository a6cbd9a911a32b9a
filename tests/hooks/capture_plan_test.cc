// SPDX-License-Identifier: Apache-2.0
#include "trace/capture_plan.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "tests/hooks/recorder_fixture.h"
#include "trace/error.h"

namespace nanhunt::trace {
namespace {

using testing::HasSubstr;

std::string refusal_of(const std::string& json) {
  try {
    parse_capture_plan(json);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "accepted";
}

CapturePlan every_field_set() {
  CapturePlan plan;
  plan.out = "runs/a trace";
  plan.level = Level::kFull;
  plan.full_sites = {"decoder.layers.3.**"};
  plan.full_phases = {"forward", "loss"};
  plan.sites = {"decoder.**", "embedding"};
  plan.phases = {"forward", "unscaled"};
  plan.steps = {0, 41};
  plan.ranks = {2};
  plan.queue_bytes = 12345;
  plan.trace_bytes = 1LL << 40;
  plan.ring = 4;
  plan.triggers = {{TriggerKind::kGradNorm, 0x1.fp3}, {TriggerKind::kExit, 0}};
  plan.ring_bytes = 1LL << 33;
  plan.poison = true;
  plan.repeats = 7;
  plan.perturbation = Perturbation{.seed = 0xFFFF'FFFF'FFFF'FFFF,
                                   .ulp_parameters = false,
                                   .noise = {{"**.mlp", "output", "backward", 0x1.fp-9, 0x1p-25,
                                              0x1.8p-4}}};
  return plan;
}

TEST(CapturePlan, SurvivesItsJson) {
  const CapturePlan plan = every_field_set();
  const CapturePlan back = parse_capture_plan(to_json(plan));
  EXPECT_EQ(back.out, plan.out);
  EXPECT_EQ(back.level, plan.level);
  EXPECT_EQ(back.full_sites, plan.full_sites);
  EXPECT_EQ(back.full_phases, plan.full_phases);
  EXPECT_EQ(back.sites, plan.sites);
  EXPECT_EQ(back.phases, plan.phases);
  EXPECT_EQ(back.steps, plan.steps);
  EXPECT_EQ(back.ranks, plan.ranks);
  EXPECT_EQ(back.queue_bytes, plan.queue_bytes);
  EXPECT_EQ(back.trace_bytes, plan.trace_bytes);
  EXPECT_EQ(back.ring, plan.ring);
  EXPECT_EQ(back.triggers, plan.triggers) << "factors to the last bit";
  EXPECT_EQ(back.ring_bytes, plan.ring_bytes);
  EXPECT_EQ(back.poison, plan.poison);
  EXPECT_EQ(back.repeats, plan.repeats);
  ASSERT_TRUE(back.perturbation);
  EXPECT_EQ(back.perturbation->seed, plan.perturbation->seed);
  EXPECT_EQ(back.perturbation->ulp_parameters, false);
  ASSERT_EQ(back.perturbation->noise.size(), 1U);
  EXPECT_EQ(back.perturbation->noise[0].site, "**.mlp");
  EXPECT_EQ(back.perturbation->noise[0].role, "output");
  EXPECT_EQ(back.perturbation->noise[0].phase, "backward");
  EXPECT_EQ(back.perturbation->noise[0].relative, 0x1.fp-9) << "to the last bit";
  EXPECT_EQ(back.perturbation->noise[0].absolute, 0x1p-25);
  EXPECT_EQ(back.perturbation->noise[0].operands, 0x1.8p-4);
}

TEST(CapturePlan, OnlyTheFolderIsNeeded) {
  const CapturePlan plan = parse_capture_plan(R"({"out": "x"})");
  EXPECT_EQ(plan.out, "x");
  EXPECT_EQ(plan.level, Level::kStats);
  EXPECT_FALSE(plan.perturbation);
  EXPECT_EQ(plan.ring, 0);
  EXPECT_TRUE(plan.triggers.empty());
}

TEST(CapturePlan, RingWithoutTriggersWaitsForNonFiniteAndExit) {
  const CapturePlan plan = parse_capture_plan(R"({"out": "x", "ring": 3})");
  EXPECT_EQ(plan.triggers, default_triggers());
  const CapturePlan named = parse_capture_plan(R"({"out": "x", "ring": 3, "triggers": ["exit"]})");
  EXPECT_EQ(named.triggers, (std::vector<Trigger>{{TriggerKind::kExit, 0}}));
}

TEST(CapturePlan, TriggersAreReadAndWritten) {
  for (const char* text : {"nonfinite", "loss>2x", "loss>1.5x", "gnorm>10x", "exit"}) {
    const auto trigger = trigger_from_text(text);
    ASSERT_TRUE(trigger) << text;
    EXPECT_EQ(text_of(*trigger), text);
  }
  EXPECT_EQ(trigger_from_text("loss>2.5x")->factor, 2.5);
  for (const char* text : {"", "nan", "nonfinite ", "loss", "loss>2", "loss>x", "loss>1x",
                           "loss>-2x", "loss>infx", "loss>nanx", "loss> 2x", "gnorm<2x", "exit>2x"})
    EXPECT_FALSE(trigger_from_text(text)) << text;
}

TEST(CapturePlan, RefusesARingByName) {
  EXPECT_THAT(refusal_of(R"({"out": "x", "ring": 2, "triggers": ["los>2x"]})"),
              HasSubstr("'triggers' names no trigger: 'los>2x'"));
  EXPECT_THAT(refusal_of(R"({"out": "x", "ring": 2, "triggers": "exit"})"),
              HasSubstr("'triggers' must be a list"));
  EXPECT_THAT(refusal_of(R"({"out": "x", "ring": 2, "triggers": [2]})"),
              HasSubstr("'triggers' has the wrong type"));
  EXPECT_THAT(refusal_of(R"({"out": "x", "triggers": ["exit"]})"), HasSubstr("needs 'ring'"));
  EXPECT_THAT(refusal_of(R"({"out": "x", "ring": -1})"), HasSubstr("'ring' must be at least 0"));
  EXPECT_THAT(refusal_of(R"({"out": "x", "ring": 1, "ring_bytes": 0})"), HasSubstr("at least 1"));
}

TEST(CapturePlan, RefusesByName) {
  EXPECT_THAT(refusal_of(R"({"out": "x", "phase": []})"),
              HasSubstr("unknown field 'phase'; did you mean 'phases'?"));
  EXPECT_THAT(refusal_of(R"({"out": "x", "perturbation": {"sed": 1}})"),
              HasSubstr("'perturbation.sed'; did you mean 'seed'?"));
  EXPECT_THAT(refusal_of(R"({"out": "x", "perturbation": {"noise": [{"sites": ""}]}})"),
              HasSubstr("'perturbation.noise.0.sites'"));
  EXPECT_THAT(refusal_of(R"({})"), HasSubstr("'out' is missing"));
  EXPECT_THAT(refusal_of(R"({"out": "x", "level": "ful"})"), HasSubstr("'level' names no level"));
  EXPECT_THAT(refusal_of(R"({"out": "x", "phases": ["fwd"]})"), HasSubstr("no phase: 'fwd'"));
  EXPECT_THAT(refusal_of(R"({"out": "x", "sites": "a"})"), HasSubstr("'sites' has the wrong type"));
  EXPECT_THAT(refusal_of(R"({"out": "x", "steps": [1.5]})"), HasSubstr("'steps' must be an int"));
  EXPECT_THAT(refusal_of(R"({"out": "x", "ranks": [3000000000]})"),
              HasSubstr("'ranks' does not fit"));
  EXPECT_THAT(refusal_of(R"({"out": "x", "queue_bytes": 0})"), HasSubstr("at least 1"));
  EXPECT_THAT(refusal_of(R"({"out": "x", "trace_bytes": -1})"), HasSubstr("at least 0"));
  EXPECT_THAT(refusal_of(R"({"out": )"), HasSubstr("not JSON"));
  EXPECT_THAT(refusal_of("[]"), HasSubstr("must be an object"));
}

TEST(CapturePlan, ComesFromTheEnvironment) {
  unsetenv("NANHUNT_CAPTURE");
  EXPECT_FALSE(capture_plan_from_environment());
  setenv("NANHUNT_CAPTURE", R"({"out": "here"})", 1);
  EXPECT_EQ(capture_plan_from_environment()->out, "here");
  hooks::TraceFolder folder;
  const std::string path = folder.trace().string() + ".json";
  setenv("NANHUNT_CAPTURE", path.c_str(), 1);
  EXPECT_THROW(capture_plan_from_environment(), Error) << "a file that is not there";
  std::ofstream(path) << R"({"out": "there"})";
  EXPECT_EQ(capture_plan_from_environment()->out, "there");
  unsetenv("NANHUNT_CAPTURE");
}

}  // namespace
}  // namespace nanhunt::trace
