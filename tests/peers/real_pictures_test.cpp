// Trained networks on real pictures: what they should see, they see, and ONNX Runtime sees the
// same.
#include <gtest/gtest.h>

#include <iostream>

#include "tests/peers/arrays.h"
#include "tests/peers/our_run.h"
#include "tests/support/must.h"
#include "tests/support/test_data.h"
#include "tools/images/image_file.h"
#include "tools/images/to_nv12.h"

namespace modeld::test {
namespace {

constexpr double kTolerance = 1e-4;
constexpr size_t kFaceProbability = 12;

// The input rule of the 2021 monitoring networks (facts/test-material, "They behave as trained"):
// height 640, the middle 320 columns, six half-size planes of YUV 4:2:0, (v - 128) / 128.
NpyArray monitoring_input(const RgbImage& picture) {
  const RgbImage scaled = must(scale(picture, picture.width * 640 / picture.height, 640));
  const RgbImage middle = must(crop(scaled, (scaled.width - 320) / 2, 0, 320, 640));
  constexpr size_t kWidth = 320;
  constexpr size_t kLuma = kWidth * 640;
  std::vector<uint8_t> frame(kLuma * 3 / 2);
  must(to_nv12(middle, {320, 640, 320, kLuma, kLuma * 3 / 2}, frame));
  std::vector<float> values;
  const auto put = [&](uint8_t value) {
    values.push_back((static_cast<float>(value) - 128) / 128);
  };
  for (const size_t row : {size_t{0}, size_t{1}}) {
    for (const size_t column : {size_t{0}, size_t{1}}) {
      for (size_t y = row; y < 640; y += 2) {
        for (size_t x = column; x < kWidth; x += 2) put(frame[y * kWidth + x]);
      }
    }
  }
  for (const size_t part : {size_t{0}, size_t{1}}) {
    for (size_t i = kLuma + part; i < frame.size(); i += 2) put(frame[i]);
  }
  return array_of(NpyType::kF4, {1, 6, 320, 160}, values);
}

RgbImage flat_grey() {
  RgbImage image = must(make_image(512, 512));
  for (uint8_t& value : image.pixels) value = 128;
  return image;
}

struct Seen {
  std::string name;
  RgbImage picture;
  bool face;
};

std::vector<Seen> pictures() {
  return {{"astronaut", must(load_image(shared_path("data/portraits/astronaut.png"))), true},
          {"hopper", must(load_image(shared_path("data/portraits/grace_hopper.jpg"))), true},
          {"road", must(load_image(shared_path("data/comma2k19/preview.png"))), false},
          {"grey", flat_grey(), false}};
}

class FaceNetwork : public testing::TestWithParam<const char*> {};

TEST_P(FaceNetwork, SeesFacesAndOnlyFaces) {
  MODELD_NEED_SHARED("data/portraits");
  const auto path = shared_path(std::string("data/models/") + GetParam());
  const auto seen = pictures();
  std::vector<NamedArrays> steps;
  for (const Seen& one : seen) steps.push_back({{"input_img", monitoring_input(one.picture)}});
  const Model model = compiled(path);
  const auto& ort = OrtPeer::instance();
  const auto expected =
      ort.missing().empty() ? ort.run(path, steps).outputs : std::vector<NamedArrays>();
  for (const char* backend : {"reference", "cpu", "opencl"}) {
    const auto found = run_on(backend, model, steps);
    for (size_t i = 0; i < seen.size(); ++i) {
      const auto values = numbers(found[i].at("outputs"));
      const double probability = values.at(kFaceProbability);
      std::cout << GetParam() << " " << backend << " " << seen[i].name << ": " << probability;
      if (seen[i].face) {
        EXPECT_GE(probability, 0.85) << backend << " " << seen[i].name;
      } else {
        EXPECT_LE(probability, 0.2) << backend << " " << seen[i].name;
      }
      if (!expected.empty()) {
        const double off = largest_difference(numbers(expected[i].at("outputs")), values);
        EXPECT_LE(off, kTolerance) << backend << " " << seen[i].name;
        std::cout << ", off ONNX Runtime " << off;
      }
      std::cout << "\n";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, FaceNetwork,
                         testing::Values("dm-2021-06.onnx", "dm-2021-08.onnx"),
                         [](const auto& instance) {
                           return std::string(instance.param).substr(8, 2);
                         });

// RGB / 255, planes, 320 x 320 whatever the picture's proportions.
NpyArray rgb_input(const RgbImage& picture) {
  const RgbImage scaled = must(scale(picture, 320, 320));
  std::vector<float> values;
  for (size_t channel = 0; channel < 3; ++channel) {
    for (size_t i = channel; i < scaled.pixels.size(); i += 3) {
      values.push_back(static_cast<float>(scaled.pixels[i]) / 255);
    }
  }
  return array_of(NpyType::kF4, {1, 3, 320, 320}, values);
}

// Pixels whose second class (drivable) beats the first.
double second_class_share(const std::vector<double>& scores) {
  const size_t pixels = scores.size() / 2;
  size_t count = 0;
  for (size_t i = 0; i < pixels; ++i) count += scores[pixels + i] > scores[i] ? 1 : 0;
  return static_cast<double>(count) / static_cast<double>(pixels);
}

TEST(TwinLiteNet, MarksTheRoadDrivable) {
  MODELD_NEED_SHARED("data/comma2k19/preview.png");
  const auto path = shared_path("data/models/twinlitenet.onnx");
  const auto inputs = graph_inputs(path);
  ASSERT_EQ(inputs.size(), 1u);
  const auto picture = must(load_image(shared_path("data/comma2k19/preview.png")));
  const std::vector<NamedArrays> steps{{{inputs[0].name, rgb_input(picture)}}};
  const Model model = compiled(path);
  // The first output of the file is the drivable area.
  const std::string area = model.contract.outputs.at(0).name;
  for (const char* backend : {"reference", "cpu", "opencl"}) {
    const auto found = run_on(backend, model, steps);
    const double share = second_class_share(numbers(found[0].at(area)));
    EXPECT_GE(share, 0.17) << backend;
    EXPECT_LE(share, 0.20) << backend;
    std::cout << backend << ": " << 100 * share << " % drivable\n";
  }
}

}  // namespace
}  // namespace modeld::test
