#include "warp/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/npz.h"
#include "tests/support/test_data.h"

namespace modeld {
namespace {

const char kJson[] = "data/vectors/warp/warp_matrix.json";

nlohmann::json read_json(const std::string& relative) {
  std::ifstream file(test::shared_path(relative));
  return nlohmann::json::parse(file);
}

// The camera a vector calls "ar_ox.narrow_road", "neo.driver", ...
CameraIntrinsics camera_named(const std::string& name) {
  const size_t dot = name.find('.');
  const std::string set = name.substr(0, dot);
  const std::string camera = name.substr(dot + 1);
  const char* const type = set == "neo" ? "neo" : "tici";
  const char* const sensor = set == "neo" ? "unknown" : set == "os" ? "os04c10" : "ar0231";
  const auto cameras = find_cameras(type, sensor);
  EXPECT_TRUE(cameras.ok());
  EXPECT_EQ((*cameras)->name, set);
  if (camera == "narrow_road" || camera == "road") return (*cameras)->narrow_road;
  return camera == "wide_road" ? (*cameras)->wide_road : (*cameras)->cabin;
}

TEST(CameraTable, HoldsThePublishedCameras) {
  MODELD_NEED_SHARED(kJson);
  const auto vectors = read_json(kJson);
  ASSERT_EQ(vectors["cameras"].size(), 8u);
  for (const auto& row : vectors["cameras"]) {
    const CameraIntrinsics camera = camera_named(row["name"]);
    EXPECT_EQ(camera.width, row["width"].get<uint32_t>());
    EXPECT_EQ(camera.height, row["height"].get<uint32_t>());
    EXPECT_EQ(camera.focal, row["focal"].get<double>());
    EXPECT_EQ(camera.center_x, row["intrinsics"][0][2].get<double>());
    EXPECT_EQ(camera.center_y, row["intrinsics"][1][2].get<double>());
  }
}

TEST(CameraTable, LookupKnowsTheListedPairsOnly) {
  MODELD_NEED_SHARED(kJson);
  const auto lookup = read_json(kJson)["lookup"];
  const char* const types[] = {"unknown", "neo", "tici", "tizi", "mici", "pc", "chestnut", ""};
  const char* const sensors[] = {"unknown", "ar0231", "ox03c10", "os04c10", "imx", ""};
  for (const std::string type : types) {
    for (const std::string sensor : sensors) {
      std::string want;
      for (const auto& row : lookup) {
        if (row[0] == type && row[1] == sensor) want = row[2];
      }
      const auto found = find_cameras(type, sensor);
      EXPECT_EQ(found.ok() ? std::string((*found)->name) : "", want) << type << "/" << sensor;
    }
  }
}

TEST(CameraTable, RefusalListsTheKnownPairs) {
  const auto found = find_cameras("unknown", "unknown");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(found.error().found, "unknown/unknown");
  EXPECT_NE(found.error().expected.find("mici/os04c10"), std::string::npos);
  EXPECT_NE(found.error().expected.find("neo/unknown"), std::string::npos);
}

TEST(CameraTable, NeoHasNoWideCamera) {
  const auto neo = find_cameras("neo", "unknown");
  ASSERT_TRUE(neo.ok());
  EXPECT_FALSE((*neo)->wide_road.present());
  EXPECT_TRUE((*neo)->cabin.present());
}

TEST(CameraTable, CabinByBufferWidth) {
  EXPECT_EQ(cabin_cameras_by_width(1344).name, "os");
  EXPECT_EQ(cabin_cameras_by_width(1928).name, "ar_ox");
  EXPECT_EQ(cabin_cameras_by_width(1164).name, "ar_ox");
}

TEST(Calibration, MatricesEqualTheOriginalsInFloat32) {
  MODELD_NEED_SHARED(kJson);
  const test::Npz npz(test::shared_path("data/vectors/warp/warp_matrix.npz"));
  const auto cameras = read_json(kJson)["cameras"];
  const auto want_float = npz.values<float>("matrix_f32");
  const auto want_double = npz.values<double>("matrix_f64");
  size_t at = 0;
  for (size_t calibration = 0; calibration < 36; ++calibration) {
    const auto row = npz.row<float>("rpy", calibration);
    const std::array<float, 3> rpy{row[0], row[1], row[2]};
    const auto rotation = npz.row<double>("rotation", calibration);
    const Matrix3d have_rotation = rotation_from_euler(rpy);
    for (size_t i = 0; i < 9; ++i) EXPECT_NEAR(have_rotation[i], rotation[i], 4e-16);
    for (const auto& camera : cameras) {
      for (const CameraIntrinsics& model : {kMedModelCamera, kSBigModelCamera}) {
        const Matrix3d exact = road_matrix(camera_named(camera["name"]), model, rpy);
        const Matrix3f rounded = to_float(exact);
        for (size_t i = 0; i < 9; ++i, ++at) {
          EXPECT_EQ(rounded.m[i], want_float[at]) << calibration << camera["name"] << i;
          EXPECT_NEAR(exact[i], want_double[at], 1e-12 + 1e-12 * std::abs(want_double[at]));
        }
      }
    }
  }
  EXPECT_EQ(at, want_float.size());
}

TEST(Calibration, CabinMatricesEqualTheOriginals) {
  MODELD_NEED_SHARED(kJson);
  const auto wanted = read_json(kJson)["driver_monitoring_matrix_f32"];
  for (const uint32_t width : {1344u, 1928u}) {
    const CameraSet& cameras = cabin_cameras_by_width(width);
    const Matrix3f have = to_float(cabin_matrix(cameras.cabin, kCabinModelCamera));
    for (size_t i = 0; i < 9; ++i) {
      EXPECT_EQ(have.m[i], wanted[std::string(cameras.name)][i / 3][i % 3].get<float>()) << i;
    }
  }
}

// Facts 6.4, written out: an anchor that needs no data files.
TEST(Calibration, FirstPublishedNumbers) {
  const CameraSet& ar = cabin_cameras_by_width(1928);
  const Matrix3f zero = to_float(road_matrix(ar.narrow_road, kMedModelCamera, {0, 0, 0}));
  EXPECT_EQ(zero.m, (std::array<float, 9>{2.90989017f, 0, 219.06813f, 0, 2.90989017f, 465.489227f,
                                          0, 0, 1}));
  const Matrix3f turned =
      to_float(road_matrix(ar.wide_road, kSBigModelCamera, {0.01f, -0.02f, 0.03f}));
  // Published for double angles; ours are float32 first, which moves one entry by a last bit.
  const float want[] = {1.18155217f,      -0.0549173355f,   686.236694f,
                        -0.0276227258f,   1.21970606f,      436.86676f,
                        -6.63602041e-05f, -4.32719098e-05f, 1.02290702f};
  for (size_t i = 0; i < 9; ++i) EXPECT_FLOAT_EQ(turned.m[i], want[i]) << i;
}

// 358x717 pixels at (1011, 102) fill 320x640: corner pixels show corner pixels.
TEST(Calibration, PortraitOfTheDriversSeat) {
  const Matrix3d m = portrait_matrix(cabin_cameras_by_width(1928).cabin, false);
  const auto x = [&](double u) { return m[0] * u + m[1] * u + m[2]; };
  const auto y = [&](double v) { return m[3] * v + m[4] * v + m[5]; };
  EXPECT_NEAR(x(-0.5), 1010.5, 1e-9);
  EXPECT_NEAR(x(319.5), 1010.5 + 358, 1e-9);
  EXPECT_NEAR(y(-0.5), 101.5, 1e-9);
  EXPECT_NEAR(y(639.5), 101.5 + 717, 1e-9);
  EXPECT_TRUE(check_transform(to_float(m), 320, 640).ok());
}

// The right seat's part, 358x717 at (415, 102), is seen in a mirror: its left edge is its last
// column.
TEST(Calibration, PortraitOfTheRightSeatIsMirrored) {
  const Matrix3d m = portrait_matrix(cabin_cameras_by_width(1928).cabin, true);
  EXPECT_NEAR(m[0] * -0.5 + m[2], 414.5 + 358, 1e-9);
  EXPECT_NEAR(m[0] * 319.5 + m[2], 414.5, 1e-9);
  EXPECT_NEAR(m[4] * -0.5 + m[5], 101.5, 1e-9);
  EXPECT_NEAR(m[4] * 639.5 + m[5], 101.5 + 717, 1e-9);
  EXPECT_TRUE(check_transform(to_float(m), 320, 640).ok());
}

// Of another camera: the pixels that look the same way, (u - cx) / f alike in both.
TEST(Calibration, PortraitOfTheSmallerCameraHasTheSameAngles) {
  for (const bool right : {false, true}) {
    const Matrix3d large = portrait_matrix(cabin_cameras_by_width(1928).cabin, right);
    const Matrix3d small = portrait_matrix(cabin_cameras_by_width(1344).cabin, right);
    for (const double u : {-0.5, 319.5}) {
      const double across = small[0] * u + small[2];
      EXPECT_NEAR((across - 672) / 425.25, (large[0] * u + large[2] - 964) / 567, 1e-9);
      EXPECT_GE(across, -0.5);
      EXPECT_LE(across, 1343.5);
    }
    for (const double v : {-0.5, 639.5}) {
      const double down = small[4] * v + small[5];
      EXPECT_NEAR((down - 380) / 425.25, (large[4] * v + large[5] - 604) / 567, 1e-9);
      EXPECT_GE(down, -0.5);
      EXPECT_LE(down, 759.5);
    }
  }
}

}  // namespace
}  // namespace modeld
