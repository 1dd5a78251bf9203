// The driver-monitoring model's logic, from raw outputs to the message, against the original.
#include <gtest/gtest.h>

#include "daemon/monitoring/message_filler.h"
#include "daemon/monitoring/output_parser.h"
#include "ipc/schema/read_message.h"
#include "tests/daemon/message_vectors.h"
#include "tests/daemon/vector_contract.h"
#include "tests/support/npz.h"

namespace modeld::monitoring {
namespace {

using test::same_number;

OutputParser dm553_parser(const OutputContract& contract) {
  auto parser = OutputParser::create({&contract, 1});
  if (!parser.ok()) throw std::runtime_error(to_string(parser.error()));
  return std::move(parser).value();
}

void expect_same(std::span<const float> have, std::span<const float> want, const std::string& name,
                 size_t row) {
  ASSERT_LE(have.size(), want.size());
  for (size_t i = 0; i < have.size(); ++i) {
    EXPECT_TRUE(same_number(have[i], want[i]))
        << name << " case " << row << ": " << have[i] << " for " << want[i];
  }
}

void expect_driver(const DriverOutputs& have, const test::Npz& npz, const std::string& suffix,
                   size_t row) {
  const auto want = [&](const std::string& name) { return npz.row<float>("out." + name, row); };
  const auto face = want("face_descs_" + suffix);
  const auto deviation = want("face_descs_" + suffix + "_std");
  expect_same(have.face_orientation, face, "orientation " + suffix, row);
  expect_same(have.face_position, face.subspan(3), "position " + suffix, row);
  expect_same(have.face_orientation_deviation, deviation, "orientation std " + suffix, row);
  expect_same(have.face_position_deviation, deviation.subspan(3), "position std " + suffix, row);
  const std::pair<const char*, float> probabilities[] = {
      {"face_prob_", have.face_prob},
      {"left_eye_prob_", have.left_eye_prob},
      {"right_eye_prob_", have.right_eye_prob},
      {"left_blink_prob_", have.left_blink_prob},
      {"right_blink_prob_", have.right_blink_prob},
      {"sunglasses_prob_", have.sunglasses_prob},
      {"using_phone_prob_", have.using_phone_prob},
      {"sleep_prob_", have.sleep_prob}};
  for (const auto& [name, value] : probabilities) {
    expect_same({&value, 1}, want(name + suffix), name + suffix, row);
  }
}

// The networks of 2021: means, softplus of what follows, and probabilities that are ones already.
OutputContract single_driver_contract() {
  OutputContract contract;
  contract.name = "outputs";
  contract.type = {DType::kFloat32, {1, 39}};
  const std::pair<const char*, int64_t> heads[] = {
      {"face_prob", 12},       {"left_eye_prob", 21},    {"right_eye_prob", 30},
      {"left_blink_prob", 31}, {"right_blink_prob", 32}, {"sunglasses_prob", 33}};
  contract.slices.resize(1);
  contract.slices[0].name = "face_descs";
  contract.slices[0].stop = 12;
  for (const auto& [name, at] : heads) {
    OutputSlice slice;
    slice.name = name;
    slice.start = at;
    slice.stop = at + 1;
    contract.slices.push_back(slice);
  }
  return contract;
}

TEST(MonitoringOutputParser, ReadsTheNetworksOfASingleDriver) {
  const OutputContract contract = single_driver_contract();
  const auto parser = OutputParser::create({&contract, 1});
  ASSERT_TRUE(parser.ok()) << to_string(parser.error());
  std::vector<float> values(39);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 64;
  values[6] = 0;
  values[7] = 100;
  values[8] = -3;
  const std::span<const float> raw(values);
  MonitoringOutputs outputs;
  parser->parse({&raw, 1}, outputs);
  EXPECT_EQ(outputs.left.face_orientation, (std::array<float, 3>{0, 1.0f / 64, 2.0f / 64}));
  EXPECT_EQ(outputs.left.face_position, (std::array<float, 2>{3.0f / 64, 4.0f / 64}));
  EXPECT_NEAR(outputs.left.face_orientation_deviation[0], 0.69314718, 1e-7);  // ln 2
  EXPECT_EQ(outputs.left.face_orientation_deviation[1], 100.0f);
  EXPECT_NEAR(outputs.left.face_orientation_deviation[2], 0.04858735, 1e-8);
  EXPECT_EQ(outputs.left.face_prob, 12.0f / 64);
  EXPECT_EQ(outputs.left.left_eye_prob, 21.0f / 64);
  EXPECT_EQ(outputs.left.right_eye_prob, 30.0f / 64);
  EXPECT_EQ(outputs.left.left_blink_prob, 31.0f / 64);
  EXPECT_EQ(outputs.left.right_blink_prob, 32.0f / 64);
  EXPECT_EQ(outputs.left.sunglasses_prob, 33.0f / 64);
  EXPECT_EQ(outputs.right.face_prob, 0.0f);
  EXPECT_EQ(outputs.wheel_on_right_prob, 0.0f);
}

TEST(MonitoringOutputParser, ASingleDriverMaySitRight) {
  const OutputContract contract = single_driver_contract();
  const auto parser = OutputParser::create({&contract, 1}, DriverSeat::kRight);
  ASSERT_TRUE(parser.ok()) << to_string(parser.error());
  std::vector<float> values(39);
  values[1] = 0.25f;
  values[12] = 0.75f;
  const std::span<const float> raw(values);
  MonitoringOutputs outputs;
  parser->parse({&raw, 1}, outputs);
  EXPECT_EQ(outputs.right.face_orientation, (std::array<float, 3>{0, 0.25f, 0}));
  EXPECT_EQ(outputs.right.face_prob, 0.75f);
  EXPECT_EQ(outputs.wheel_on_right_prob, 1.0f);
  EXPECT_EQ(outputs.left.face_prob, 0.0f);
}

TEST(MonitoringOutputParser, EqualsTheOriginal) {
  MODELD_NEED_SHARED("data/vectors/parse/dm553.npz");
  const test::Npz npz(test::shared_path("data/vectors/parse/dm553.npz"));
  const OutputContract contract = test::vector_contract("dm553");
  const OutputParser parser = dm553_parser(contract);
  EXPECT_EQ(parser.ignored_heads(), std::vector<std::string>{"features"});
  ASSERT_EQ(npz.array("raw").shape[0], 17u);
  MonitoringOutputs outputs;
  for (size_t row = 0; row < 17; ++row) {
    const auto raw = npz.row<float>("raw", row);
    parser.parse(std::span(&raw, 1), outputs);
    expect_same({&outputs.wheel_on_right_prob, 1}, npz.row<float>("out.wheel_on_right", row),
                "wheel_on_right", row);
    expect_driver(outputs.left, npz, "lhd", row);
    expect_driver(outputs.right, npz, "rhd", row);
  }
}

TEST(MonitoringOutputParser, OnlySleepIsOptional) {
  MODELD_NEED_SHARED("data/vectors/parse/dm553.json");
  const OutputContract whole = test::vector_contract("dm553");
  for (size_t i = 0; i < whole.slices.size(); ++i) {
    const std::string& name = whole.slices[i].name;
    if (name == "features") continue;
    OutputContract contract = whole;
    contract.slices.erase(contract.slices.begin() + static_cast<ptrdiff_t>(i));
    const auto parser = OutputParser::create({&contract, 1});
    EXPECT_EQ(parser.ok(), name.starts_with("sleep_prob")) << name;
    if (parser.ok()) continue;
    EXPECT_EQ(parser.error().message, "output head '" + name + "' is missing");
  }
}

TEST(MonitoringMessages, SequenceEqualsTheOriginal) {
  MODELD_NEED_SHARED("data/vectors/fill/driver_state_sequence.npz");
  const test::Npz npz(test::shared_path("data/vectors/fill/driver_state_sequence.npz"));
  const OutputContract contract = test::vector_contract("dm553");
  const OutputParser parser = dm553_parser(contract);
  MonitoringOutputs outputs;
  MessageFiller filler;
  for (size_t row = 0; row < 12; ++row) {
    const auto raw = npz.row<float>("raw", row);
    parser.parse(std::span(&raw, 1), outputs);
    const FrameFacts facts{1, static_cast<uint32_t>(npz.row<int64_t>("in.frame_id", row)[0]),
                           npz.row<double>("in.model_execution_time", row)[0],
                           npz.row<double>("in.gpu_execution_time", row)[0]};
    const auto bytes = filler.driver_state_v2(facts, outputs);
    ASSERT_TRUE(bytes.ok());
    const auto exact = [](const std::string&, double have, double want) {
      return same_number(have, want);
    };
    EXPECT_EQ(test::expect_message(npz, "driverStateV2", row, *bytes, exact), 29u);
  }
}

TEST(MonitoringMessages, InvalidHasTheFactsAndNoPrediction) {
  MessageFiller filler(8);
  MonitoringOutputs outputs;
  outputs.wheel_on_right_prob = 1.0f;
  const float raw[] = {1.0f, 2.0f};
  ASSERT_TRUE(filler.driver_state_v2({}, outputs, std::as_bytes(std::span(raw))).ok());
  const auto bytes = filler.invalid_driver_state_v2({9, 12, 0.5, 0.25});
  ASSERT_TRUE(bytes.ok());
  ipc::MessageReader reader;
  const Status status = ipc::read_event(reader, *bytes, [](wire::Event::Reader event) {
    EXPECT_FALSE(event.getValid());
    EXPECT_EQ(event.getLogMonoTime(), 9u);
    ASSERT_TRUE(event.isDriverStateV2());
    const auto message = event.getDriverStateV2();
    EXPECT_EQ(message.getFrameId(), 12u);
    EXPECT_EQ(message.getModelExecutionTime(), 0.5f);
    EXPECT_EQ(message.getGpuExecutionTime(), 0.25f);
    EXPECT_EQ(message.getWheelOnRightProb(), 0.0f);
    EXPECT_FALSE(message.hasLeftDriverData());
    EXPECT_FALSE(message.hasRightDriverData());
    EXPECT_FALSE(message.hasRawPredictions());
  });
  EXPECT_TRUE(status.ok());
}

}  // namespace
}  // namespace modeld::monitoring
