#include "daemon/driving/action.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "daemon/driving/desire_helper.h"
#include "daemon/driving/drop_filter.h"
#include "daemon/driving/model_inputs.h"
#include "tests/support/npz.h"
#include "tests/support/test_data.h"

namespace modeld::driving {
namespace {

const char kFolder[] = "data/vectors/action";

test::Npz load(const std::string& name) {
  return test::Npz(test::shared_path(std::string(kFolder) + "/" + name + ".npz"));
}

TEST(Action, EqualsTheOriginal) {
  MODELD_NEED_SHARED(kFolder);
  const test::Npz npz = load("action_cases");
  const auto number = [&](const char* name, size_t i) { return npz.values<double>(name)[i]; };
  const auto flag = [&](const char* name, size_t i) { return npz.values<uint8_t>(name)[i] != 0; };
  size_t with_head = 0;
  for (size_t i = 0; i < 104; ++i) {
    ModelOutputs outputs;
    for (size_t point = 0; point < kIdxCount; ++point) {
      float* const row = outputs.plan.mean.data() + point * kPlanWidth;
      row[kPlanVelocity] = npz.row<float>("plan_vx", i)[point];
      row[kPlanAcceleration] = npz.row<float>("plan_ax", i)[point];
      row[kPlanEuler + 2] = npz.row<float>("plan_yaw", i)[point];
      row[kPlanOrientationRate + 2] = npz.row<float>("plan_yaw_rate", i)[point];
    }
    const ActionTimes times{number("lat_action_t", i), number("long_action_t", i)};
    const double v_ego = number("v_ego", i);
    const double acceleration =
        acceleration_from_plan({npz.row<float>("plan_vx", i).data()},
                               {npz.row<float>("plan_ax", i).data()}, times.longitudinal);
    EXPECT_EQ(acceleration, number("accel_from_plan", i)) << i;
    const double curvature =
        curvature_from_plan({npz.row<float>("plan_yaw", i).data()},
                            {npz.row<float>("plan_yaw_rate", i).data()}, v_ego, times.lateral);
    const double want_curvature = number("curvature_from_plan", i);
    EXPECT_NEAR(curvature, want_curvature, 2e-7 * std::max(1.0, std::abs(want_curvature))) << i;

    outputs.has_action = flag("has_action_head", i);
    with_head += outputs.has_action ? 1 : 0;
    outputs.action = {npz.row<float>("action_head", i)[0], npz.row<float>("action_head", i)[1]};
    const Action previous{static_cast<float>(number("prev_desired_curvature", i)),
                          static_cast<float>(number("prev_desired_acceleration", i)), false};
    const Action have = next_action(outputs, previous, times, v_ego);
    const auto near = [](float value, float want) {
      return std::abs(value - want) <= 2e-7f * std::max(1.0f, std::abs(want));
    };
    EXPECT_TRUE(near(have.desired_curvature, npz.values<float>("desiredCurvature")[i])) << i;
    EXPECT_TRUE(near(have.desired_acceleration, npz.values<float>("desiredAcceleration")[i])) << i;
    EXPECT_EQ(have.should_stop, flag("shouldStop", i)) << i;
  }
  EXPECT_GT(with_head, 10u);
  EXPECT_LT(with_head, 94u);
}

TEST(Action, NumbersThatAreNotFiniteShow) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  ModelOutputs outputs;
  outputs.plan.mean.fill(1.0f);
  EXPECT_TRUE(is_finite(next_action(outputs, {}, {0.5, 0.5}, 10.0)));
  EXPECT_FALSE(is_finite(next_action(outputs, {}, {kNaN, 0.5}, 10.0)));
  EXPECT_FALSE(is_finite(next_action(outputs, {}, {0.5, kNaN}, 10.0)));
  EXPECT_TRUE(is_finite(next_action(outputs, {}, {0.5, 0.5}, kNaN)));  // speed counts as low
  outputs.has_action = true;
  outputs.action = {0.0f, std::numeric_limits<float>::infinity()};
  EXPECT_FALSE(is_finite(next_action(outputs, {}, {0.5, 0.5}, 10.0)));
}

TEST(Action, SmoothingEqualsTheOriginal) {
  MODELD_NEED_SHARED(kFolder);
  const test::Npz npz = load("smooth_value");
  size_t compared = 0;
  for (size_t i = 0; i < npz.array("rows").shape[0]; ++i) {
    const auto row = npz.row<double>("rows", i);
    if (row[3] != kModelDt) continue;
    ++compared;
    EXPECT_NEAR(smooth_value(row[0], row[1], row[2]), row[4], 1e-15 + 1e-15 * std::abs(row[4]))
        << i;
  }
  EXPECT_GT(compared, 20u);
}

TEST(DropFilter, EqualsTheOriginal) {
  MODELD_NEED_SHARED(kFolder);
  const test::Npz npz = load("drop_filter");
  DropFilter filter;
  for (size_t i = 0; i < 90; ++i) {
    filter.update(static_cast<uint32_t>(npz.values<int64_t>("frame_id")[i]));
    EXPECT_EQ(filter.filtered(), npz.values<double>("filter_x")[i]) << i;
    EXPECT_EQ(filter.ratio(), npz.values<double>("frame_drop_ratio")[i]) << i;
  }
  EXPECT_GT(filter.ratio(), 0.0);
}

TEST(DropFilter, FrameIdsThatGoBackAreNoDrops) {
  DropFilter filter;
  filter.update(500);
  EXPECT_EQ(filter.dropped(), 499);
  filter.update(3);  // the camera server restarted
  EXPECT_EQ(filter.dropped(), 0);
  filter.update(4);
  EXPECT_EQ(filter.dropped(), 0);
}

TEST(DesireHelper, EqualsTheOriginal) {
  MODELD_NEED_SHARED(kFolder);
  const test::Npz npz = load("desire_helper");
  const auto flag = [&](const char* name, size_t i) { return npz.values<uint8_t>(name)[i] != 0; };
  const auto integer = [&](const char* name, size_t i) { return npz.values<int64_t>(name)[i]; };
  DesireHelper helper;
  bool desired = false;
  for (size_t i = 0; i < 560; ++i) {
    helper.update({npz.values<double>("vEgo")[i], flag("leftBlinker", i), flag("rightBlinker", i),
                   flag("steeringPressed", i), npz.values<double>("steeringTorque")[i],
                   flag("leftBlindspot", i), flag("rightBlindspot", i), flag("latActive", i)},
                  npz.values<double>("lane_change_prob")[i]);
    ASSERT_EQ(static_cast<int64_t>(helper.state()), integer("state", i)) << i;
    ASSERT_EQ(static_cast<int64_t>(helper.direction()), integer("direction", i)) << i;
    ASSERT_EQ(static_cast<int64_t>(helper.desire()), integer("desire", i)) << i;
    ASSERT_EQ(helper.timer(), npz.values<double>("timer")[i]) << i;
    ASSERT_EQ(helper.previous_one_blinker(), flag("prev_one_blinker", i)) << i;
    desired = desired || helper.desire() != Desire::kNone;
  }
  EXPECT_TRUE(desired);
}

TEST(ModelInputs, PulseIsOneFrameLong) {
  DesirePulse pulse;
  const std::array<float, 8> none{};
  const std::array<float, 8> left{0, 0, 0, 1, 0, 0, 0, 0};
  const std::array<float, 8> right{0, 0, 0, 0, 1, 0, 0, 0};
  EXPECT_EQ(pulse.update(Desire::kNone), none);
  EXPECT_EQ(pulse.update(Desire::kLaneChangeLeft), left);
  EXPECT_EQ(pulse.update(Desire::kLaneChangeLeft), none);
  EXPECT_EQ(pulse.update(Desire::kLaneChangeRight), right);
  EXPECT_EQ(pulse.update(Desire::kNone), none);
  EXPECT_EQ(pulse.update(Desire::kLaneChangeRight), right);
}

TEST(ModelInputs, TrafficConvention) {
  EXPECT_EQ(traffic_convention(false), (std::array<float, 2>{1, 0}));
  EXPECT_EQ(traffic_convention(true), (std::array<float, 2>{0, 1}));
}

// numpy's interp: a point of the grid gives its own value beside an infinity, an interval with one
// infinite end gives infinity, and one of two equal infinities that infinity.
TEST(Action, InfinitePlansAreInterpolatedAsNumpyDoes) {
  const float inf = std::numeric_limits<float>::infinity();
  std::array<float, kIdxCount> speed{};
  const std::array<float, kIdxCount> none{};
  const double point = kTIdxs[10];  // beyond 0.3 s
  const double between = (kTIdxs[10] + kTIdxs[11]) / 2;
  speed[10] = 3;
  speed[11] = inf;
  EXPECT_EQ(acceleration_from_plan({speed.data()}, {none.data()}, point), 2.0 * 3 / point);
  EXPECT_EQ(acceleration_from_plan({speed.data()}, {none.data()}, between), inf);
  speed[10] = inf;
  EXPECT_EQ(acceleration_from_plan({speed.data()}, {none.data()}, between), inf);
  speed[10] = -inf;
  EXPECT_EQ(acceleration_from_plan({speed.data()}, {none.data()}, point), -inf);
  // Infinite slopes from a finite or an infinite end: numpy takes what is a number.
  speed[10] = inf;
  speed[11] = 3;
  EXPECT_EQ(acceleration_from_plan({speed.data()}, {none.data()}, between), inf);
}

}  // namespace
}  // namespace modeld::driving
