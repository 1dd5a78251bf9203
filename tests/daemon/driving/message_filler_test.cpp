#include "daemon/driving/message_filler.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "daemon/driving/path_fit.h"
#include "ipc/schema/read_message.h"

namespace modeld::driving {
namespace {

FrameFacts some_facts() {
  FrameFacts facts;
  facts.log_mono_time = 77;
  facts.frame_id = 40;
  facts.frame_id_extra = 41;
  facts.camera_state_frame_id = 43;
  facts.timestamp_eof = 123456789;
  facts.execution_time = 0.25;
  facts.frame_drop_ratio = 0.5;
  facts.calibration_seen = true;
  return facts;
}

// Runs `check` on the Event in `bytes`.
template <typename Check>
void with_event(Result<MessageFiller::Bytes> bytes, Check check) {
  ASSERT_TRUE(bytes.ok());
  ipc::MessageReader reader;
  const Status status = ipc::read_event(reader, *bytes, check);
  EXPECT_TRUE(status.ok());
}

TEST(DrivingMessages, InvalidModelV2HasTheFactsAndNoPrediction) {
  MessageFiller filler;
  with_event(filler.invalid_model_v2(some_facts()), [](wire::Event::Reader event) {
    EXPECT_FALSE(event.getValid());
    EXPECT_EQ(event.getLogMonoTime(), 77u);
    ASSERT_TRUE(event.isModelV2());
    const auto message = event.getModelV2();
    EXPECT_EQ(message.getFrameId(), 40u);
    EXPECT_EQ(message.getFrameIdExtra(), 41u);
    EXPECT_EQ(message.getFrameAge(), 3u);
    EXPECT_EQ(message.getFrameDropPerc(), 50.0f);
    EXPECT_EQ(message.getTimestampEof(), 123456789u);
    EXPECT_EQ(message.getModelExecutionTime(), 0.25f);
    EXPECT_FALSE(message.hasPosition());
    EXPECT_EQ(message.getPosition().getX().size(), 0u);
    EXPECT_EQ(message.getLaneLines().size(), 0u);
    EXPECT_EQ(message.getRoadEdges().size(), 0u);
    EXPECT_EQ(message.getLeadsV3().size(), 0u);
    EXPECT_EQ(message.getMeta().getDesireState().size(), 0u);
    EXPECT_EQ(message.getRawPredictions().size(), 0u);
  });
}

TEST(DrivingMessages, InvalidCompanions) {
  MessageFiller filler;
  with_event(filler.invalid_driving_model_data(some_facts()), [](wire::Event::Reader event) {
    EXPECT_FALSE(event.getValid());
    ASSERT_TRUE(event.isDrivingModelData());
    EXPECT_EQ(event.getDrivingModelData().getFrameIdExtra(), 41u);
    EXPECT_EQ(event.getDrivingModelData().getFrameDropPerc(), 50.0f);
    EXPECT_FALSE(event.getDrivingModelData().hasPath());
  });
  with_event(filler.invalid_camera_odometry(some_facts()), [](wire::Event::Reader event) {
    EXPECT_FALSE(event.getValid());
    ASSERT_TRUE(event.isCameraOdometry());
    EXPECT_EQ(event.getCameraOdometry().getTimestampEof(), 123456789u);
    EXPECT_EQ(event.getCameraOdometry().getTrans().size(), 0u);
  });
}

// A message written after a full one must not show what was there before.
TEST(DrivingMessages, NothingRemainsOfTheMessageBefore) {
  MessageFiller filler;
  ModelOutputs outputs;
  outputs.plan.mean.fill(1.5f);
  ASSERT_TRUE(filler.model_v2(some_facts(), {outputs, {}}).ok());
  with_event(filler.invalid_model_v2(some_facts()), [](wire::Event::Reader event) {
    EXPECT_FALSE(event.getModelV2().hasPosition());
    EXPECT_FALSE(event.getModelV2().hasLaneLines());
  });
}

TEST(DrivingMessages, ValidityFollowsCalibrationAndDrops) {
  MessageFiller filler;
  const ModelOutputs outputs;
  const Prediction prediction{outputs, {}};
  FrameFacts facts = some_facts();
  const auto validity = [&] {
    std::array<bool, 3> valid{};
    with_event(filler.model_v2(facts, prediction),
               [&](auto event) { valid[0] = event.getValid(); });
    with_event(filler.driving_model_data(facts, prediction),
               [&](auto event) { valid[1] = event.getValid(); });
    with_event(filler.camera_odometry(facts, prediction),
               [&](auto event) { valid[2] = event.getValid(); });
    return valid;
  };
  EXPECT_EQ(validity(), (std::array<bool, 3>{true, true, true}));
  facts.dropped_frames = 1;
  EXPECT_EQ(validity(), (std::array<bool, 3>{true, true, false}));
  facts.dropped_frames = 0;
  facts.calibration_seen = false;
  EXPECT_EQ(validity(), (std::array<bool, 3>{false, false, false}));
}

TEST(DrivingMessages, FrameAgeIsNeverNegative) {
  MessageFiller filler;
  FrameFacts facts = some_facts();
  facts.camera_state_frame_id = 39;
  with_event(filler.invalid_model_v2(facts),
             [](wire::Event::Reader event) { EXPECT_EQ(event.getModelV2().getFrameAge(), 0u); });
}

TEST(DrivingMessages, RawPredictionsOnlyWhenGiven) {
  MessageFiller filler(12);
  const ModelOutputs outputs;
  const float raw[] = {1.0f, 2.0f, 3.0f};
  Prediction prediction{outputs, {}};
  with_event(filler.model_v2(some_facts(), prediction), [](wire::Event::Reader event) {
    EXPECT_FALSE(event.getModelV2().hasRawPredictions());
  });
  prediction.raw = std::as_bytes(std::span(raw));
  with_event(filler.model_v2(some_facts(), prediction), [&](wire::Event::Reader event) {
    const auto data = event.getModelV2().getRawPredictions();
    ASSERT_EQ(data.size(), sizeof raw);
    EXPECT_EQ(std::memcmp(data.begin(), raw, sizeof raw), 0);
  });
}

TEST(DrivingMessages, FieldsOfOlderGenerationsStayUnset) {
  MessageFiller filler;
  const ModelOutputs outputs;
  with_event(filler.model_v2(some_facts(), {outputs, {}}), [](wire::Event::Reader event) {
    const auto message = event.getModelV2();
    EXPECT_FALSE(message.hasTemporalPose());
    EXPECT_EQ(message.getGpuExecutionTime(), 0.0f);
    EXPECT_FALSE(message.getNavEnabled());
    EXPECT_EQ(message.getLocationMonoTime(), 0u);
    EXPECT_FALSE(message.getLaneLines()[0].hasXStd());
    EXPECT_FALSE(message.getVelocity().hasXStd());
  });
}

TEST(DrivingMessages, TemporalPoseOfModelsThatHaveOne) {
  MessageFiller filler;
  ModelOutputs outputs;
  outputs.has_sim_pose = true;
  outputs.sim_pose.mean = {1, 2, 3, 4, 5, 6};
  outputs.sim_pose.deviation = {7, 8, 9, 10, 11, 12};
  with_event(filler.model_v2(some_facts(), {outputs, {}}), [](wire::Event::Reader event) {
    const auto pose = event.getModelV2().getTemporalPose();
    const auto list = [](const auto& values) {
      std::vector<float> copy;
      for (const float value : values) copy.push_back(value);
      return copy;
    };
    EXPECT_EQ(list(pose.getTrans()), (std::vector<float>{1, 2, 3}));
    EXPECT_EQ(list(pose.getRot()), (std::vector<float>{4, 5, 6}));
    EXPECT_EQ(list(pose.getTransStd()), (std::vector<float>{7, 8, 9}));
    EXPECT_EQ(list(pose.getRotStd()), (std::vector<float>{10, 11, 12}));
  });
}

// Points of a known polynomial give its coefficients back.
TEST(PathFit, FindsAPolynomialAgain) {
  const double want[3][kPathCoefficients] = {
      {1.0, 20.0, -0.5, 0.03, -0.001}, {0.0, 0.0, 0.25, 0.0, 0.0}, {-3.0, 0.1, 0.0, 0.0, 2e-4}};
  ModelOutputs outputs;
  for (size_t i = 0; i < kIdxCount; ++i) {
    for (size_t column = 0; column < 3; ++column) {
      double value = 0.0;
      for (size_t k = kPathCoefficients; k-- > 0;) value = value * kTIdxs[i] + want[column][k];
      outputs.plan.mean[i * kPlanWidth + column] = static_cast<float>(value);
    }
  }
  for (size_t column = 0; column < 3; ++column) {
    const auto have = fit_path(outputs, column);
    // The points were rounded to float32.
    for (size_t k = 0; k < kPathCoefficients; ++k) {
      EXPECT_NEAR(have[k], want[column][k], 2e-5) << column << " " << k;
    }
  }
}

// Where the entries lie: facts 4.1.
struct MetaCase {
  size_t width;
  size_t step;
  std::vector<size_t> gas_press;
  std::vector<size_t> brake_press;
};

std::vector<float> to_vector(capnp::List<float>::Reader list) {
  std::vector<float> values;
  for (const float value : list) values.push_back(value);
  return values;
}

TEST(DrivingMessages, MetasOfEveryWidth) {
  const MetaCase cases[] = {
      {55, 6, {31, 35, 39, 43, 47, 51}, {32, 36, 40, 44, 48, 52}},
      {53, 8, {7, 15, 23, 31, 39}, {8, 16, 24, 32, 40}},
      {48, 7, {7, 14, 21, 28, 35}, {}},
  };
  for (const MetaCase& one : cases) {
    ModelOutputs outputs;
    // Every entry says where it lies.
    for (size_t i = 0; i < one.width; ++i) outputs.meta[i] = static_cast<float>(i) / 64;
    for (const MetaLayout& layout : kMetaLayouts) {
      if (layout.size == one.width) outputs.meta_layout = &layout;
    }
    const auto entries = [](const std::vector<size_t>& places) {
      std::vector<float> values;
      for (const size_t place : places) values.push_back(static_cast<float>(place) / 64);
      return values;
    };
    const auto strided = [&](size_t first) {
      return entries({first, first + one.step, first + 2 * one.step, first + 3 * one.step,
                      first + 4 * one.step});
    };
    MessageFiller filler;
    with_event(filler.model_v2(some_facts(), {outputs, {}}), [&](wire::Event::Reader event) {
      const auto meta = event.getModelV2().getMeta();
      const auto found = meta.getDisengagePredictions();
      EXPECT_EQ(meta.getEngagedProb(), 0.0f);
      EXPECT_EQ(to_vector(found.getGasDisengageProbs()), strided(1));
      EXPECT_EQ(to_vector(found.getBrakeDisengageProbs()), strided(2));
      EXPECT_EQ(to_vector(found.getSteerOverrideProbs()), strided(3));
      EXPECT_EQ(to_vector(found.getBrake3MetersPerSecondSquaredProbs()), strided(4));
      EXPECT_EQ(to_vector(found.getBrake4MetersPerSecondSquaredProbs()), strided(5));
      EXPECT_EQ(to_vector(found.getBrake5MetersPerSecondSquaredProbs()), strided(6));
      EXPECT_EQ(to_vector(found.getGasPressProbs()), entries(one.gas_press));
      EXPECT_EQ(to_vector(found.getBrakePressProbs()), entries(one.brake_press));
    });
    PublishState state;
    state.update(40, outputs);
    EXPECT_EQ(state.hard_brakes_5().back(), 6.0f / 64);
    EXPECT_EQ(state.hard_brakes_3().back(), 4.0f / 64);
    const float any = 1 - (1 - 1.0f / 64) * (1 - 2.0f / 64) * (1 - 3.0f / 64);
    EXPECT_FLOAT_EQ(state.disengagements()[20], any);
  }
}

}  // namespace
}  // namespace modeld::driving
