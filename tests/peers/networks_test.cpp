// Real networks and the samples: our backends against ONNX Runtime on seeded inputs.
#include <gtest/gtest.h>

#include <iostream>
#include <span>

#include "tests/peers/arrays.h"
#include "tests/peers/our_run.h"
#include "tests/support/must.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_data.h"
#include "tools/samples/driving_network.h"
#include "tools/samples/monitoring_network.h"
#include "tools/samples/sample_network.h"

namespace modeld::test {
namespace {

constexpr double kSingleTolerance = 1e-4;
constexpr double kHalfTolerance = 1e-2;
// A few steps of eight bits: the peer computes between them in integers, we in floats.
constexpr double kStepTolerance = 1e-2;
constexpr uint64_t kSeed = 42;

struct Network {
  const char* file;
  double tolerance;
  std::vector<uint64_t> shape = {};  // of the one input, where the file leaves extents open
};

void PrintTo(const Network& network, std::ostream* out) {
  *out << network.file;
}

class RealNetwork : public testing::TestWithParam<Network> {};

TEST_P(RealNetwork, AnswersAsOnnxRuntimeDoes) {
  const std::string relative = std::string("data/models/") + GetParam().file;
  MODELD_NEED_SHARED(relative);
  MODELD_NEED_ORT();
  const auto path = shared_path(relative);
  std::vector<GraphInput> inputs = graph_inputs(path);
  std::map<std::string, Shape> shapes;
  if (!GetParam().shape.empty()) {
    inputs.at(0).shape = GetParam().shape;
    shapes[inputs[0].name] = {GetParam().shape.begin(), GetParam().shape.end()};
  }
  const std::vector<NamedArrays> steps{seeded_arrays(inputs, kSeed)};
  const auto expected = OrtPeer::instance().run(path, steps).outputs;
  const Model model = compiled(path, shapes);
  for (const std::string backend : {"reference", "cpu", "opencl"}) {
    const auto found = run_on(backend, model, steps);
    ASSERT_EQ(found[0].size(), expected[0].size());
    for (const auto& [name, array] : expected[0]) {
      ASSERT_TRUE(found[0].contains(name)) << name;
      const double difference = largest_difference(numbers(array), numbers(found[0].at(name)));
      EXPECT_LE(difference, GetParam().tolerance) << backend << ", output " << name;
      std::cout << GetParam().file << " " << backend << " " << name << ": " << difference << "\n";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RealNetwork,
                         testing::Values(Network{"dm-2020-05.onnx", kSingleTolerance},
                                         Network{"dm-2021-06.onnx", kSingleTolerance},
                                         Network{"dm-2021-08.onnx", kSingleTolerance},
                                         Network{"dm-2021-06-fp16.onnx", kHalfTolerance},
                                         Network{"twinlitenet.onnx", kSingleTolerance},
                                         Network{"twinlitenet-qdq-int8.onnx", kStepTolerance},
                                         Network{"byte-bilstm.onnx", kSingleTolerance, {2, 64}},
                                         Network{"yolox_nano.onnx", kSingleTolerance},
                                         Network{"vit-tracker.onnx", kSingleTolerance},
                                         Network{"ultraface-rfb320.onnx", kSingleTolerance},
                                         Network{"squeezenet-fp16.onnx", kHalfTolerance}),
                         [](const auto& instance) {
                           std::string name;
                           for (const char c : std::string(instance.param.file)) {
                             if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
                           }
                           return name;
                         });

// Slice by slice: a large slice must not hide a wrong small one.
void expect_slices_agree(const NamedArrays& expected, const NamedArrays& found,
                         std::span<const samples::HeadSlice> slices, const std::string& label) {
  const auto want = numbers(expected.at("outputs"));
  const auto have = numbers(found.at("outputs"));
  ASSERT_EQ(want.size(), have.size());
  double worst = 0;
  for (const auto& slice : slices) {
    const auto part = [&](const std::vector<double>& all) {
      return std::vector(all.begin() + slice.start, all.begin() + slice.stop);
    };
    const double difference = largest_difference(part(want), part(have));
    EXPECT_LE(difference, kHalfTolerance) << label << ", slice " << slice.name;
    worst = std::max(worst, difference);
  }
  std::cout << label << ": " << worst << "\n";
}

void expect_sample_agrees(samples::SampleKind kind, std::span<const samples::HeadSlice> slices,
                          size_t frames) {
  MODELD_NEED_ORT();
  const TempDir folder;
  const auto path = folder / "sample.onnx";
  must(samples::write_sample(kind, path));
  const auto inputs = graph_inputs(path);
  std::vector<NamedArrays> steps;
  for (size_t frame = 0; frame < frames; ++frame) {
    auto& step = steps.emplace_back(seeded_arrays(inputs, kSeed + frame));
    for (const GraphInput& input : inputs) {
      if (!input.name.starts_with("state_")) continue;
      step.erase(input.name);
      if (frame == 0) step[input.name] = zeros(input);
    }
  }
  const auto expected = OrtPeer::instance().run(path, steps).outputs;
  const Model model = compiled(path);
  for (const char* backend : {"reference", "cpu", "opencl"}) {
    const auto found = run_on(backend, model, steps);
    for (size_t frame = 0; frame < frames; ++frame) {
      expect_slices_agree(
          expected[frame], found[frame], slices,
          std::string(to_string(kind)) + " " + backend + " frame " + std::to_string(frame));
    }
  }
}

TEST(SampleNetworks, DrivingAnswersAsOnnxRuntimeDoes) {
  expect_sample_agrees(samples::SampleKind::kDriving, samples::driving_slices(), 1);
}

TEST(SampleNetworks, DrivingWithHistoryAnswersAsOnnxRuntimeDoes) {
  expect_sample_agrees(samples::SampleKind::kDrivingStateful, samples::driving_slices(), 5);
}

TEST(SampleNetworks, MonitoringAnswersAsOnnxRuntimeDoes) {
  expect_sample_agrees(samples::SampleKind::kMonitoring, samples::monitoring_slices(), 1);
}

}  // namespace
}  // namespace modeld::test
