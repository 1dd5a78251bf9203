// Pipeline files: what is read, and every refusal with key and line.
#include "tools/compile/pipeline.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace modeld::compile {
namespace {

std::filesystem::path shipped(const std::string& name) {
  return std::filesystem::path(MODELD_SOURCE_ROOT) / "config/pipelines" / name;
}

TEST(Pipeline, ShippedDriving) {
  const auto pipeline = read_pipeline(shipped("driving.toml"));
  ASSERT_TRUE(pipeline.ok()) << to_string(pipeline.error());
  EXPECT_EQ(pipeline->role, ModelRole::kDriving);
  ASSERT_EQ(pipeline->stages.size(), 1u);
  EXPECT_EQ(pipeline->stages[0].inputs.size(), 6u);
  const InputSpec* image = pipeline->stages[0].find_input("img");
  ASSERT_NE(image, nullptr);
  ASSERT_TRUE(image->sources[0].warp.has_value());
  EXPECT_EQ(image->sources[0].source, "narrow_road");
  EXPECT_EQ(image->sources[0].warp->output_size, (FrameSize{512, 256}));
  EXPECT_EQ(image->sources[0].warp->sizes[1], (FrameSize{1344, 760}));
  EXPECT_EQ(image->history->size, 6);
  const InputSpec* features = pipeline->stages[0].find_input("features_buffer");
  EXPECT_EQ(features->feedback, "hidden_state");
  EXPECT_EQ(features->history->delay, 3);
  EXPECT_TRUE(pipeline->stages[0].find_input("desire_pulse")->history->maximum);
}

TEST(Pipeline, ShippedStatefulAndMonitoring) {
  const auto stateful = read_pipeline(shipped("driving_stateful.toml"));
  ASSERT_TRUE(stateful.ok()) << to_string(stateful.error());
  EXPECT_EQ(stateful->stages[0].find_input("warped")->sources.size(), 2u);
  const auto monitoring = read_pipeline(shipped("monitoring.toml"));
  ASSERT_TRUE(monitoring.ok()) << to_string(monitoring.error());
  EXPECT_EQ(monitoring->role, ModelRole::kMonitoring);
  EXPECT_EQ(monitoring->stages[0].find_input("input_img")->sources[0].warp->border_fill, 16);
}

TEST(Pipeline, ShippedMonitoringOf2021) {
  const auto pipeline = read_pipeline(shipped("monitoring_2021.toml"));
  ASSERT_TRUE(pipeline.ok()) << to_string(pipeline.error());
  const InputSpec* image = pipeline->stages[0].find_input("input_img");
  EXPECT_EQ(image->sources[0].warp->transform, "cabin_portrait_transform");
  EXPECT_EQ(image->scale, 1.0 / 128);
  EXPECT_EQ(pipeline->stages[0].slices.at("outputs").size(), 13u);
}

// One for each form of the driving network (facts 4.4).
TEST(Pipeline, ShippedFormsOfTheDrivingNetwork) {
  const auto oldest = read_pipeline(shipped("driving_2024.toml"));
  ASSERT_TRUE(oldest.ok()) << to_string(oldest.error());
  EXPECT_EQ(oldest->stages[0].find_input("input_imgs")->history->stride, 1);
  EXPECT_EQ(oldest->stages[0].find_input("prev_desired_curv")->feedback, "desired_curvature[0:1]");
  EXPECT_EQ(oldest->stages[0].find_input("lateral_control_params")->sources[0].source,
            "lateral_control_params");
  const auto split = read_pipeline(shipped("driving_2025.toml"));
  ASSERT_TRUE(split.ok()) << to_string(split.error());
  ASSERT_EQ(split->stages.size(), 2u);
  EXPECT_EQ(split->stages[1].file, "driving_policy.onnx");
  EXPECT_EQ(split->stages[1].find_input("features_buffer")->from, "vision.hidden_state");
  EXPECT_EQ(split->stages[1].find_input("features_buffer")->history->delay, 0);
  const auto later = read_pipeline(shipped("driving_split.toml"));
  ASSERT_TRUE(later.ok()) << to_string(later.error());
  EXPECT_TRUE(later->stages[1].find_input("action_t")->optional);
  EXPECT_FALSE(later->stages[1].find_input("desire_pulse")->optional);
}

void expect_refusal(const std::string& text, const std::string& line, const std::string& word) {
  const auto pipeline = parse_pipeline(text, "p.toml");
  ASSERT_FALSE(pipeline.ok()) << word;
  const std::string message = to_string(pipeline.error());
  EXPECT_NE(message.find("p.toml:" + line), std::string::npos) << message;
  EXPECT_NE(message.find(word), std::string::npos) << message;
}

const std::string kHead = "name = 'm'\nrole = 'other'\n[[stage]]\n";

TEST(Pipeline, UnknownKeysByNameAndLine) {
  expect_refusal("name = 'm'\nrole = 'other'\ncolour = 3\n[[stage]]\n", "3", "'colour'");
  expect_refusal(kHead + "nmae = 'x'\n", "4", "'stage[0].nmae'");
  expect_refusal(kHead + "[stage.inputs.x]\nsuorce = 'cabin'\n", "5", "'stage[0].inputs.x.suorce'");
  expect_refusal(kHead + "[stage.inputs.x]\nhistory = { axis = 1, strid = 4 }\n", "5",
                 "history.strid'");
}

TEST(Pipeline, WrongTypesAndValues) {
  expect_refusal("name = 3\nrole = 'other'\n[[stage]]\n", "1", "expected a text, found an integer");
  expect_refusal("name = 'm'\nrole = 'pilot'\n[[stage]]\n", "2", "found pilot");
  expect_refusal("name = 'm'\nrole = 'other'\n", "1", "at least one [[stage]]");
  expect_refusal("name = 'm'\nrole = 'other'\ndevices = ['cpu', 'toaster']\n[[stage]]\n", "3",
                 "toaster");
  expect_refusal(kHead + "[stage.inputs.x]\nscale = 'big'\n", "5", "a finite number");
  expect_refusal(kHead + "[stage.inputs.x]\nscale = inf\n", "5", "a finite number");
  expect_refusal(kHead + "[stage.inputs.x]\nhistory = { stride = 0 }\n", "5", "found 0");
  expect_refusal(kHead + "[stage.inputs.x]\nhistory = { reduce = 'mean' }\n", "5", "sample | max");
  expect_refusal(kHead + "[stage.inputs.x]\nsource = 'rear'\n", "5", "found rear");
  expect_refusal(kHead + "[stage.inputs.x]\nsource = 'cabin'\n", "5", "a frame with a warp");
  expect_refusal(kHead + "[stage.inputs.x]\nsource = 'action_t'\nfeedback = 'y'\n", "5", "several");
  expect_refusal(kHead + "[stage.inputs.x]\noptional = 'yes'\n", "5", "true or false");
  expect_refusal(kHead + "file = '../x.onnx'\n", "4", "a path");
  expect_refusal(kHead + "[ranges]\nplan = [3, 1]\n", "5", "'ranges.plan'");
}

TEST(Pipeline, WarpsNeedAllTheirParts) {
  const auto warp = [](const std::string& rest) {
    return kHead + "[stage.inputs.x]\nsource = 'cabin'\nwarp = { transform = 't', " + rest + " }\n";
  };
  expect_refusal(warp("layout = 'rgb', width = 8, height = 8, sizes = [[8, 8]]"), "6", "found rgb");
  expect_refusal(warp("layout = 'luma', width = 8, sizes = [[8, 8]]"), "6", "height'");
  expect_refusal(warp("layout = 'luma', width = 8, height = 8, sizes = [[7, 8]]"), "6", "7 x 8");
  expect_refusal(warp("layout = 'luma', width = 8, height = 8, sizes = []"), "6",
                 "at least one camera size");
  expect_refusal(warp("layout = 'luma', width = 8, height = 8, border_fill = 256, sizes = [[8,8]]"),
                 "6", "0..255");
  expect_refusal(warp("layout = 'luma', width = 8, height = 8, filter = 'cubic', sizes = [[8,8]]"),
                 "6", "nearest | bilinear");
  expect_refusal(
      warp("layout = 'luma', width = 8, height = 8, filter = 'bilinear', border_fill = 0, "
           "sizes = [[8,8]]"),
      "6", "nearest beside border_fill");
}

TEST(Pipeline, TextThatIsNotToml) {
  expect_refusal("name = 'm'\nrole = = 'other'\n", "2", "not TOML");
  std::string deep = "name = ";
  deep.append(100'000, '[');
  EXPECT_FALSE(parse_pipeline(deep, "p.toml").ok());
}

}  // namespace
}  // namespace modeld::compile
