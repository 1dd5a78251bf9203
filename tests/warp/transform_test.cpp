#include "warp/transform.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "warp/calibration.h"

namespace modeld {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr Matrix3f kIdentity{{1, 0, 0, 0, 1, 0, 0, 0, 1}};

std::string refusal(const Matrix3f& matrix, uint32_t width = 512, uint32_t height = 256) {
  const Status status = check_transform(matrix, width, height);
  return status.ok() ? "accepted" : status.error().message;
}

TEST(Transform, AcceptsEveryCalibratedCamera) {
  for (const char* const sensor : {"ar0231", "os04c10"}) {
    const CameraSet& cameras = **find_cameras("tici", sensor);
    for (const float pitch : {-0.2f, 0.0f, 0.2f}) {
      for (const float yaw : {-0.3f, 0.0f, 0.3f}) {
        const std::array<float, 3> rpy{0.05f, pitch, yaw};
        EXPECT_EQ(refusal(to_float(road_matrix(cameras.narrow_road, kMedModelCamera, rpy))),
                  "accepted");
        EXPECT_EQ(refusal(to_float(road_matrix(cameras.wide_road, kSBigModelCamera, rpy))),
                  "accepted");
      }
    }
    EXPECT_EQ(refusal(to_float(cabin_matrix(cameras.cabin, kCabinModelCamera)), 1440, 960),
              "accepted");
  }
}

TEST(Transform, NegativeDenominatorsAreOneSignToo) {
  EXPECT_EQ(refusal({{-1, 0, 0, 0, -1, 0, 0, 0, -1}}), "accepted");
}

TEST(Transform, RefusesWhatIsNotFinite) {
  for (const float bad : {kNaN, kInf, -kInf}) {
    for (size_t i = 0; i < 9; ++i) {
      Matrix3f matrix = kIdentity;
      matrix.m[i] = bad;
      const Status status = check_transform(matrix, 512, 256);
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().message, "transform is not finite");
      EXPECT_NE(status.error().found.find("row " + std::to_string(i / 3) + ", column " +
                                          std::to_string(i % 3)),
                std::string::npos);
    }
  }
}

TEST(Transform, RefusesWhatIsNotInvertible) {
  EXPECT_EQ(refusal({}), "transform is not invertible");  // before the first calibration
  EXPECT_EQ(refusal({{1, 2, 3, 2, 4, 6, 0, 0, 1}}), "transform is not invertible");
  // Singular in the reals, but not after rounding to float32.
  EXPECT_EQ(refusal({{0.1f, 0.7f, 30, 0.3f, 2.1f, 90, 1e-3f, 1e-3f, 1}}),
            "transform is not invertible");
}

TEST(Transform, FieldFault30RefusesADenominatorOfBothSignsOrZero) {
  const std::string want = "transform denominator changes sign or is zero inside the output";
  EXPECT_EQ(refusal({{1, 0, 0, 0, 1, 0, 0.01f, 0, -1}}), want);  // sign change at x = 100
  EXPECT_EQ(refusal({{1, 0, 0, 0, 1, 0, 0, -0.01f, 1}}), want);  // at y = 100
  EXPECT_EQ(refusal({{1, 0, 5, 0, 1, 0, 0.5f, 0, 0}}), want);    // zero on the line x = 0
  EXPECT_EQ(refusal({{1, 0, 0, 0, 1, 0, -1.0f / 512, 0, 1}}), "accepted");  // zero just outside
  EXPECT_EQ(refusal({{1, 0, 0, 0, 1, 0, -1.0f / 511, 0, 1}}), want);        // on the last column
}

TEST(Transform, ADenominatorThatOverflowsIsRefused) {
  EXPECT_NE(refusal({{1, 0, 0, 0, 1, 0, 3e38f, 0, 3e38f}}), "accepted");
}

TEST(Transform, ChromaFactors) {
  const Matrix3f chroma = chroma_transform({{3, 5, 7, 11, 13, 17, 19, 23, 29}});
  EXPECT_EQ(chroma.m, (std::array<float, 9>{3, 5, 3.5f, 11, 13, 8.5f, 38, 46, 29}));
}

}  // namespace
}  // namespace modeld
