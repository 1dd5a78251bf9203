#include "daemon/inputs/road_transforms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace modeld {
namespace {

constexpr FrameSize kOutput{512, 256};
constexpr uint16_t kTici = 4;
constexpr uint16_t kPc = 5;
constexpr uint16_t kOx03c10 = 2;
constexpr uint16_t kOs04c10 = 3;

VehicleInputs inputs(std::array<float, 3> rpy = {0, 0, 0}, uint16_t sensor = kOx03c10) {
  VehicleInputs values;
  values.device_state_seen = true;
  values.device_type = kTici;
  values.camera_state_seen = true;
  values.sensor = sensor;
  values.calibrations = 1;
  values.calibration_complete = true;
  values.rpy_calib = rpy;
  return values;
}

void expect_matrix(const Matrix3f& got, const std::array<float, 9>& want) {
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(got.m[i], want[i], std::abs(want[i]) * 1e-6f) << i;
  }
}

// Expected matrices: interoperability facts 6.4, test vectors.
TEST(RoadTransforms, MatricesOfTheTwoRoadCameras) {
  RoadTransforms transforms(RoadStreams::kNarrowAndWide, kOutput, kOutput);
  transforms.update(inputs({0.01f, -0.02f, 0.03f}));
  ASSERT_EQ(transforms.reason(), InvalidReason::kNone) << transforms.detail();
  expect_matrix(transforms.narrow(),
                {2.87643218f, -0.0516878515f, 308.879395f, 0.00905181468f, 2.89609456f, 516.392578f,
                 -3.3180102e-05f, -2.16359549e-05f, 1.00887406f});
  expect_matrix(transforms.wide(),
                {1.18155217f, -0.0549173355f, 686.236694f, -0.0276227258f, 1.21970606f, 436.86676f,
                 -6.63602041e-05f, -4.32719098e-05f, 1.02290702f});
  EXPECT_EQ(transforms.narrow_camera()->width, 1928u);
}

TEST(RoadTransforms, AnotherSensorAnotherMatrix) {
  RoadTransforms transforms(RoadStreams::kNarrowAndWide, kOutput, kOutput);
  transforms.update(inputs({0, 0, 0}, kOs04c10));
  ASSERT_EQ(transforms.reason(), InvalidReason::kNone) << transforms.detail();
  expect_matrix(transforms.narrow(),
                {1.2543956f, 0, 350.874725f, 0, 1.2543956f, 320.290771f, 0, 0, 1});
  expect_matrix(transforms.wide(),
                {0.934615374f, 0, 432.738464f, 0, 0.934615374f, 238.125381f, 0, 0, 1});
  EXPECT_EQ(transforms.narrow_camera()->width, 1344u);
}

TEST(RoadTransforms, OneStreamFeedsBothImagesWithItsOwnIntrinsics) {
  RoadTransforms narrow(RoadStreams::kNarrowOnly, kOutput, kOutput);
  narrow.update(inputs());
  EXPECT_EQ(narrow.narrow_camera(), narrow.wide_camera());
  EXPECT_DOUBLE_EQ(narrow.wide_camera()->focal, 2648);
  RoadTransforms wide(RoadStreams::kWideOnly, kOutput, kOutput);
  wide.update(inputs());
  EXPECT_DOUBLE_EQ(wide.narrow_camera()->focal, 567);
  // facts 6.4: ar wide -> med
  expect_matrix(wide.narrow(),
                {0.623076916f, 0, 804.49231f, 0, 0.623076916f, 574.341553f, 0, 0, 1});
}

TEST(RoadTransforms, NotCalibratedUntilAllThreeAreSeen) {
  RoadTransforms transforms(RoadStreams::kNarrowAndWide, kOutput, kOutput);
  VehicleInputs values = inputs();
  values.calibrations = 0;
  transforms.update(values);
  EXPECT_EQ(transforms.reason(), InvalidReason::kNotCalibrated);
  values = inputs();
  values.camera_state_seen = false;
  transforms.update(values);
  EXPECT_FALSE(transforms.calibrated());
  values = inputs();
  values.device_state_seen = false;
  transforms.update(values);
  EXPECT_FALSE(transforms.calibrated());
  transforms.update(inputs());
  EXPECT_TRUE(transforms.calibrated());
}

TEST(RoadTransforms, BadCalibrationIsNotPaperedOverWithTheLastGoodOne) {
  RoadTransforms transforms(RoadStreams::kNarrowAndWide, kOutput, kOutput);
  transforms.update(inputs());
  ASSERT_EQ(transforms.reason(), InvalidReason::kNone);
  VehicleInputs values = inputs({std::numeric_limits<float>::quiet_NaN(), 0, 0});
  values.calibrations = 2;
  transforms.update(values);
  EXPECT_EQ(transforms.reason(), InvalidReason::kTransform);
  EXPECT_NE(transforms.detail().find("not finite"), std::string::npos) << transforms.detail();
  values = inputs();
  values.calibrations = 3;
  values.calibration_complete = false;
  transforms.update(values);
  EXPECT_EQ(transforms.reason(), InvalidReason::kTransform);
  // A camera looking backwards: the denominator changes its sign over the picture.
  values = inputs({0, 0, 1.5707f});
  values.calibrations = 4;
  transforms.update(values);
  EXPECT_EQ(transforms.reason(), InvalidReason::kTransform);
  EXPECT_TRUE(transforms.calibrated());
  values = inputs();
  values.calibrations = 5;
  transforms.update(values);
  EXPECT_EQ(transforms.reason(), InvalidReason::kNone);
  EXPECT_TRUE(transforms.detail().empty());
}

TEST(RoadTransforms, UnknownCameraIsNamed) {
  RoadTransforms transforms(RoadStreams::kNarrowAndWide, kOutput, kOutput);
  VehicleInputs values = inputs();
  values.device_type = kPc;  // (pc, ox03c10) is not in the table
  transforms.update(values);
  EXPECT_EQ(transforms.reason(), InvalidReason::kUnknownCamera);
  EXPECT_NE(transforms.detail().find("pc"), std::string::npos) << transforms.detail();
  EXPECT_EQ(transforms.narrow_camera(), nullptr);
  // A sensor that came after our schema is none of those we know, whatever the device.
  values.device_type = kTici;
  values.sensor = 7;
  transforms.update(values);
  EXPECT_EQ(transforms.reason(), InvalidReason::kUnknownCamera);
  EXPECT_NE(transforms.detail().find("tici/unlisted"), std::string::npos) << transforms.detail();
  values.sensor = inputs().sensor;
  // The same calibration with the right device becomes usable without another message.
  values.device_type = kTici;
  transforms.update(values);
  EXPECT_EQ(transforms.reason(), InvalidReason::kNone);
}

}  // namespace
}  // namespace modeld
