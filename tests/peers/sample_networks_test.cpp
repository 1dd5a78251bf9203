// The sample networks in ONNX Runtime: they load unchanged, every output slice follows the
// pictures, and the history inside the graph is the history of the facts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>

#include "runtime/program/seeded_inputs.h"
#include "tests/peers/arrays.h"
#include "tests/samples/picture_inputs.h"
#include "tests/support/must.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_data.h"
#include "tools/samples/driving_network.h"
#include "tools/samples/monitoring_network.h"
#include "tools/samples/sample_network.h"

namespace modeld::test {
namespace {

using samples::HeadSlice;
using samples::SampleKind;

NamedArrays driving_step(const std::vector<uint8_t>& narrow, const std::vector<uint8_t>& wide) {
  NamedArrays step;
  step["img"] = array_of(NpyType::kU1, {1, 12, 128, 256}, narrow);
  step["big_img"] = array_of(NpyType::kU1, {1, 12, 128, 256}, wide);
  step["desire_pulse"] = halves({1, 25, 8}, std::vector<float>(200));
  step["traffic_convention"] = halves({1, 2}, {1, 0});
  step["action_t"] = halves({1, 2}, {0.3F, 0.5F});
  step["features_buffer"] = halves({1, 24, 512}, std::vector<float>(size_t{24} * 512));
  return step;
}

// Each camera sees another of the pictures.
std::vector<NamedArrays> driving_steps(const std::vector<RgbImage>& pictures) {
  std::vector<std::vector<uint8_t>> planes;
  for (const RgbImage& picture : pictures) planes.push_back(driving_planes(picture));
  std::vector<NamedArrays> steps;
  for (size_t i = 0; i < planes.size(); ++i) {
    steps.push_back(driving_step(planes[i], planes[(i + 1) % planes.size()]));
  }
  return steps;
}

std::vector<NamedArrays> monitoring_steps(const std::vector<RgbImage>& pictures) {
  std::vector<NamedArrays> steps;
  for (const RgbImage& picture : pictures) {
    auto& step = steps.emplace_back();
    step["input_img"] = array_of(NpyType::kU1, {1, 1382400}, monitoring_luma(picture));
    step["calib"] = array_of<float>(NpyType::kF4, {1, 3}, {0, 0.02F, -0.01F});
  }
  return steps;
}

// Of one slice: the deviation over pictures of its steadiest element, as a share of the distance
// between the smallest and the largest value any of its elements took on any picture. No other way
// of reading "the deviation of a slice" gives less.
double share_of_range(const std::vector<std::vector<double>>& outputs, const HeadSlice& slice) {
  double smallest = outputs[0][static_cast<size_t>(slice.start)];
  double largest = smallest;
  double steadiest = std::numeric_limits<double>::infinity();
  for (auto i = static_cast<size_t>(slice.start); i < static_cast<size_t>(slice.stop); ++i) {
    double sum = 0;
    double squares = 0;
    for (const auto& output : outputs) {
      smallest = std::min(smallest, output[i]);
      largest = std::max(largest, output[i]);
      sum += output[i];
      squares += output[i] * output[i];
    }
    const auto count = static_cast<double>(outputs.size());
    const double mean = sum / count;
    steadiest = std::min(steadiest, std::sqrt(std::max(0.0, squares / count - mean * mean)));
  }
  return steadiest / (largest - smallest);
}

void expect_slices_follow_pictures(SampleKind kind, const std::vector<NamedArrays>& steps,
                                   std::span<const HeadSlice> slices) {
  const TempDir folder;
  const auto model = folder / "sample.onnx";
  must(samples::write_sample(kind, model));
  std::vector<std::vector<double>> outputs;
  for (const auto& step : OrtPeer::instance().run(model, steps).outputs) {
    outputs.push_back(numbers(step.at("outputs")));
    for (const double value : outputs.back()) ASSERT_TRUE(std::isfinite(value));
  }
  ASSERT_EQ(outputs.size(), 10u);
  for (const HeadSlice& slice : slices) {
    const double share = share_of_range(outputs, slice);
    EXPECT_GE(share, 0.01) << slice.name;
    std::cout << slice.name << ": steadiest element " << 100 * share << " % of the range\n";
  }
}

TEST(SamplesInOrt, DrivingFollowsDrawnPictures) {
  MODELD_NEED_ORT();
  expect_slices_follow_pictures(SampleKind::kDriving, driving_steps(ten_drawn_pictures()),
                                samples::driving_slices());
}

TEST(SamplesInOrt, DrivingFollowsRecordedPictures) {
  MODELD_NEED_SHARED("data/portraits");
  MODELD_NEED_ORT();
  expect_slices_follow_pictures(SampleKind::kDriving, driving_steps(ten_recorded_pictures()),
                                samples::driving_slices());
}

TEST(SamplesInOrt, MonitoringFollowsDrawnPictures) {
  MODELD_NEED_ORT();
  expect_slices_follow_pictures(SampleKind::kMonitoring, monitoring_steps(ten_drawn_pictures()),
                                samples::monitoring_slices());
}

TEST(SamplesInOrt, MonitoringFollowsRecordedPictures) {
  MODELD_NEED_SHARED("data/portraits");
  MODELD_NEED_ORT();
  expect_slices_follow_pictures(SampleKind::kMonitoring, monitoring_steps(ten_recorded_pictures()),
                                samples::monitoring_slices());
}

// The last `count` entries, zeros standing in for those before the first.
template <typename T>
std::vector<T> history(const std::vector<T>& all, size_t count, const T& empty) {
  std::vector<T> out(count, empty);
  for (size_t i = 0; i < std::min(count, all.size()); ++i) {
    out[count - 1 - i] = all[all.size() - 1 - i];
  }
  return out;
}

void append(std::vector<uint8_t>& to, const std::vector<uint8_t>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// What facts/openpilot-interop 4.5 makes of all frames up to now, for the network without history.
NamedArrays facts_inputs(const std::vector<std::vector<uint8_t>>& narrow,
                         const std::vector<std::vector<uint8_t>>& wide,
                         const std::vector<std::vector<float>>& desires,
                         const std::vector<std::vector<float>>& features) {
  constexpr size_t kFrame = size_t{6} * 128 * 256;
  const auto pair = [](const auto& frames) {
    const auto queue = history(frames, 5, std::vector<uint8_t>(kFrame));
    std::vector<uint8_t> planes = queue[0];
    append(planes, queue[4]);
    return planes;
  };
  NamedArrays step = driving_step(pair(narrow), pair(wide));
  const auto desire_queue = history(desires, 100, std::vector<float>(8));
  std::vector<float> pulses;
  for (size_t row = 0; row < 25; ++row) {
    for (size_t i = 0; i < 8; ++i) {
      float largest = 0;
      for (size_t k = 0; k < 4; ++k) largest = std::max(largest, desire_queue[4 * row + k][i]);
      pulses.push_back(largest);
    }
  }
  step["desire_pulse"] = halves({1, 25, 8}, pulses);
  const auto feature_queue = history(features, 96, std::vector<float>(512));
  std::vector<float> buffer;
  for (size_t row = 0; row < 96; row += 4) {
    buffer.insert(buffer.end(), feature_queue[row].begin(), feature_queue[row].end());
  }
  step["features_buffer"] = halves({1, 24, 512}, buffer);
  return step;
}

TEST(SamplesInOrt, HistoryInTheGraphIsTheHistoryOfTheFacts) {
  MODELD_NEED_ORT();
  constexpr size_t kFrames = 10;
  const TempDir folder;
  must(samples::write_sample(SampleKind::kDrivingStateful, folder / "stateful.onnx"));
  must(samples::write_sample(SampleKind::kDriving, folder / "plain.onnx"));
  const auto inputs = graph_inputs(folder / "stateful.onnx");
  std::vector<std::vector<uint8_t>> narrow(kFrames);
  std::vector<std::vector<uint8_t>> wide(kFrames);
  std::vector<std::vector<float>> desires(kFrames, std::vector<float>(8));
  std::vector<NamedArrays> stateful_steps(kFrames);
  for (size_t frame = 0; frame < kFrames; ++frame) {
    std::vector<uint8_t> warped(size_t{2} * 6 * 128 * 256);
    fill_seeded(std::as_writable_bytes(std::span(warped)), DType::kUInt8, 7, 0,
                static_cast<uint32_t>(frame));
    const auto middle = warped.begin() + static_cast<ptrdiff_t>(warped.size() / 2);
    narrow[frame].assign(warped.begin(), middle);
    wide[frame].assign(middle, warped.end());
    if (frame % 3 == 1) desires[frame][frame % 8] = 1;
    auto& step = stateful_steps[frame];
    step["warped"] = array_of(NpyType::kU1, {2, 6, 128, 256}, warped);
    step["desire"] = array_of(NpyType::kF4, {8}, desires[frame]);
    step["traffic_convention"] = array_of<float>(NpyType::kF4, {1, 2}, {1, 0});
    step["action_t"] = array_of<float>(NpyType::kF4, {1, 2}, {0.3F, 0.5F});
    if (frame > 0) continue;
    for (const GraphInput& input : inputs) {
      if (input.name.starts_with("state_")) step[input.name] = zeros(input);
    }
  }
  const auto found = OrtPeer::instance().run(folder / "stateful.onnx", stateful_steps);

  // The features a frame put out are its part of the history of later frames.
  std::vector<NamedArrays> plain_steps;
  std::vector<std::vector<float>> features;
  const auto slices = samples::driving_slices();
  const auto hidden = std::find_if(slices.begin(), slices.end(), [](const HeadSlice& slice) {
    return slice.name == "hidden_state";
  });
  std::vector<float> previous(512);
  for (size_t frame = 0; frame < kFrames; ++frame) {
    features.push_back(previous);
    const auto until = [&](const auto& all) {
      return std::vector(all.begin(), all.begin() + static_cast<ptrdiff_t>(frame + 1));
    };
    plain_steps.push_back(facts_inputs(until(narrow), until(wide), until(desires), features));
    const auto output = numbers(found.outputs[frame].at("outputs"));
    previous.assign(output.begin() + hidden->start, output.begin() + hidden->stop);
  }
  const auto expected = OrtPeer::instance().run(folder / "plain.onnx", plain_steps);
  for (size_t frame = 0; frame < kFrames; ++frame) {
    const auto want = numbers(expected.outputs[frame].at("outputs"));
    const auto have = numbers(found.outputs[frame].at("outputs"));
    EXPECT_LE(largest_difference(want, have), 1e-4) << "frame " << frame;
    if (frame > 0) {
      EXPECT_GT(largest_difference(numbers(found.outputs[frame - 1].at("outputs")), have), 1e-3);
    }
  }
}

}  // namespace
}  // namespace modeld::test
