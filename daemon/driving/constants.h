// Sizes, time grids and thresholds of the road model. Source: interoperability facts 4.1.
#pragma once

#include <array>
#include <cstddef>

namespace modeld::driving {

constexpr size_t kIdxCount = 33;

// Quadratic grids: maximum * (i / 32)^2. Every value is exact in float32.
constexpr std::array<double, kIdxCount> quadratic_grid(double maximum) {
  std::array<double, kIdxCount> grid{};
  for (size_t i = 0; i < kIdxCount; ++i) {
    const double part = static_cast<double>(i) / (kIdxCount - 1);
    grid[i] = maximum * (part * part);
  }
  return grid;
}
constexpr std::array<double, kIdxCount> kTIdxs = quadratic_grid(10.0);   // s
constexpr std::array<double, kIdxCount> kXIdxs = quadratic_grid(192.0);  // m

constexpr size_t kLeadCount = 3;
constexpr size_t kLeadTrajectory = 6;
constexpr std::array<float, kLeadTrajectory> kLeadTIdxs{0, 2, 4, 6, 8, 10};  // s
constexpr std::array<float, kLeadCount> kLeadTOffsets{0, 2, 4};              // s
constexpr std::array<float, 5> kMetaTIdxs{2, 4, 6, 8, 10};                   // s

constexpr double kModelDt = 0.05;  // s between frames

// Columns of a plan row and of the other per-point heads.
constexpr size_t kPlanWidth = 15;
constexpr size_t kPlanPosition = 0;
constexpr size_t kPlanVelocity = 3;
constexpr size_t kPlanAcceleration = 6;
constexpr size_t kPlanEuler = 9;  // roll, pitch, yaw
constexpr size_t kPlanOrientationRate = 12;
constexpr size_t kLineWidth = 2;        // y, z
constexpr size_t kLeadWidth = 4;        // x, y, v, a
constexpr size_t kLatPlannerWidth = 4;  // x, y, yaw, yaw rate
constexpr size_t kLaneLineCount = 4;
constexpr size_t kRoadEdgeCount = 2;
constexpr size_t kDesireCount = 8;
constexpr size_t kDesirePredictionCount = 4;

}  // namespace modeld::driving
