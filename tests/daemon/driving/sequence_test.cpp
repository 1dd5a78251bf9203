// The road model's logic over whole sequences, from raw outputs to messages, against the original.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>

#include "daemon/driving/drop_filter.h"
#include "daemon/driving/message_filler.h"
#include "daemon/driving/model_inputs.h"
#include "daemon/driving/output_parser.h"
#include "daemon/driving/publish_state.h"
#include "ipc/schema/read_message.h"
#include "tests/daemon/message_vectors.h"
#include "tests/daemon/vector_contract.h"
#include "tests/support/npz.h"

namespace modeld::driving {
namespace {

using test::same_number;

const char kFolder[] = "data/vectors/fill";

// Distance in units of the last place of two float32 values of one sign.
int64_t ulps(float a, float b) {
  return std::abs(static_cast<int64_t>(std::bit_cast<int32_t>(a)) -
                  static_cast<int64_t>(std::bit_cast<int32_t>(b)));
}

bool within(double have, double want, double tolerance) {
  return std::abs(have - want) <= tolerance * std::max(1.0, std::abs(want));
}

// Tolerances of the vectors' description.
bool close_field(const std::string& field, double have, double want) {
  if (field.starts_with("path.")) return within(have, want, 2e-6);
  if (field.starts_with("action.desired")) return within(have, want, 2e-7);
  return same_number(have, want);
}

struct Sequence {
  const char* name;
  std::vector<const char*> layouts;
  size_t frames;
};

void PrintTo(const Sequence& sequence, std::ostream* out) {
  *out << sequence.name;
}

class SequenceTest : public testing::TestWithParam<Sequence> {
 protected:
  void load() {
    npz_ = std::make_unique<test::Npz>(
        test::shared_path(std::string(kFolder) + "/" + GetParam().name + ".npz"));
    for (const char* const layout : GetParam().layouts) {
      contracts_.push_back(test::vector_contract(layout));
    }
    auto parser = OutputParser::create(contracts_);
    ASSERT_TRUE(parser.ok()) << to_string(parser.error());
    parser_ = std::make_unique<OutputParser>(std::move(parser).value());
  }

  bool flag(const std::string& name, size_t row) const {
    return npz_->row<uint8_t>("in." + name, row)[0] != 0;
  }
  double number(const std::string& name, size_t row) const {
    return npz_->row<double>("in." + name, row)[0];
  }
  int64_t integer(const std::string& name, size_t row) const {
    return npz_->row<int64_t>("in." + name, row)[0];
  }

  void expect_step(const std::string& name, size_t row, double have) const {
    EXPECT_EQ(have, npz_->row<double>("out.step." + name, row)[0]) << name << " row " << row;
  }
  void expect_step_integer(const std::string& name, size_t row, int64_t have) const {
    EXPECT_EQ(have, npz_->row<int64_t>("out.step." + name, row)[0]) << name << " row " << row;
  }
  void expect_step_floats(const std::string& name, size_t row, std::span<const float> have,
                          int64_t tolerance_ulps = 0) const {
    const auto want = npz_->row<float>("out.step." + name, row);
    ASSERT_EQ(have.size(), want.size()) << name;
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_TRUE(have[i] == want[i] || ulps(have[i], want[i]) <= tolerance_ulps)
          << name << " row " << row << " entry " << i << ": " << have[i] << " for " << want[i];
    }
  }

  FrameFacts facts(size_t row) const {
    FrameFacts facts;
    facts.log_mono_time = 1000 + row;
    facts.frame_id = static_cast<uint32_t>(integer("main_frame_id", row));
    facts.frame_id_extra = static_cast<uint32_t>(integer("extra_frame_id", row));
    facts.camera_state_frame_id = static_cast<uint32_t>(integer("road_camera_state_frame_id", row));
    facts.timestamp_eof = static_cast<uint64_t>(integer("timestamp_eof", row));
    facts.execution_time = number("model_execution_time", row);
    facts.frame_drop_ratio = drops_.ratio();
    facts.dropped_frames = drops_.dropped();
    facts.calibration_seen = flag("calibration_seen", row);
    facts.big = flag("big", row);
    return facts;
  }

  DriverInputs driver_inputs(size_t row) const {
    return {number("vEgo", row),          flag("leftBlinker", row),      flag("rightBlinker", row),
            flag("steeringPressed", row), number("steeringTorque", row), flag("leftBlindspot", row),
            flag("rightBlindspot", row),  flag("latActive", row)};
  }

  void parse(size_t row) {
    std::vector<std::span<const float>> raw;
    auto rest = npz_->row<float>("raw", row);
    for (const OutputContract& contract : contracts_) {
      const auto size = static_cast<size_t>(contract.type.elements());
      raw.push_back(rest.first(size));
      rest = rest.subspan(size);
    }
    ASSERT_TRUE(rest.empty());
    parser_->parse(raw, outputs_);
  }

  void run_inputs(size_t row) {
    expect_step_integer("desire_used", row, static_cast<int64_t>(helper_.desire()));
    expect_step_floats("desire_pulse", row, pulse_.update(helper_.desire()));
    drops_.update(static_cast<uint32_t>(integer("main_frame_id", row)));
    expect_step_integer("dropped_frames", row, drops_.dropped());
    expect_step("frames_dropped_filtered", row, drops_.filtered());
    expect_step("frame_drop_ratio", row, drops_.ratio());
    times_ = action_times(number("lateralDelay", row), number("longitudinalActuatorDelay", row));
    expect_step("lat_action_t", row, times_.lateral);
    expect_step("long_action_t", row, times_.longitudinal);
    expect_step_floats("action_t_f32", row, action_t_input(times_));
  }

  void run_state(size_t row) {
    expect_step_floats("prev_desired_curvature", row, {&action_.desired_curvature, 1}, 2);
    expect_step_floats("prev_desired_acceleration", row, {&action_.desired_acceleration, 1}, 2);
    const double v_ego = std::max(number("vEgo", row), 0.0);
    action_ = next_action(outputs_, action_, times_, v_ego);
    state_.update(static_cast<uint32_t>(integer("main_frame_id", row)), outputs_);
    expect_step_floats("disengage_buffer_after", row, state_.disengagements(), 64);
    expect_step_floats("prev_brake_5ms2_after", row, state_.hard_brakes_5());
    expect_step_floats("prev_brake_3ms2_after", row, state_.hard_brakes_3());
    const double lane_change_prob = static_cast<double>(outputs_.desire_state[3]) +
                                    static_cast<double>(outputs_.desire_state[4]);
    expect_step("lane_change_prob", row, lane_change_prob);
    helper_.update(driver_inputs(row), lane_change_prob);
    expect_step("lane_change_timer_after", row, helper_.timer());
    expect_step_integer("desire_after", row, static_cast<int64_t>(helper_.desire()));
  }

  void expect_messages(size_t row) {
    const FrameFacts frame = facts(row);
    const Prediction prediction{outputs_,
                                action_,
                                state_.confidence(),
                                state_.hard_brake_predicted(),
                                helper_.state(),
                                helper_.direction(),
                                {}};
    const auto expect = [&](const char* name, Result<MessageFiller::Bytes> bytes, size_t fields) {
      ASSERT_TRUE(bytes.ok());
      EXPECT_EQ(test::expect_message(*npz_, name, row, *bytes, close_field), fields) << name;
    };
    expect("modelV2", filler_.model_v2(frame, prediction), 110);
    expect("drivingModelData", filler_.driving_model_data(frame, prediction), 18);
    expect("cameraOdometry", filler_.camera_odometry(frame, prediction), 11);
  }

  std::unique_ptr<test::Npz> npz_;
  std::vector<OutputContract> contracts_;
  std::unique_ptr<OutputParser> parser_;
  ModelOutputs outputs_;
  DesireHelper helper_;
  DesirePulse pulse_;
  DropFilter drops_;
  ActionTimes times_;
  Action action_;
  PublishState state_;
  MessageFiller filler_;
};

TEST_P(SequenceTest, EqualsTheOriginal) {
  MODELD_NEED_SHARED(kFolder);
  ASSERT_NO_FATAL_FAILURE(load());
  ASSERT_EQ(npz_->array("raw").shape[0], GetParam().frames);
  for (size_t row = 0; row < GetParam().frames; ++row) {
    run_inputs(row);
    ASSERT_NO_FATAL_FAILURE(parse(row));
    run_state(row);
    expect_messages(row);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Vectors, SequenceTest,
    testing::Values(Sequence{"sequence_consecutive_action_head", {"supercombo2580"}, 30},
                    Sequence{"sequence_with_drops_plan_action", {"vision1576", "policy1000"}, 36},
                    Sequence{"sequence_stride8_confidence", {"supercombo2580"}, 40}),
    [](const auto& param_info) { return std::string(param_info.param.name); });

}  // namespace
}  // namespace modeld::driving
