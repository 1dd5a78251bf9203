#include "tools/samples/driving_heads.h"

#include <algorithm>
#include <array>

namespace modeld::samples {
namespace {

constexpr size_t kPoints = 33;
constexpr double kSpeed = 5;            // m/s
constexpr double kCameraHeight = 1.22;  // m; z points down, so the road lies at +1.22
constexpr double kLaneHalf = 1.8;       // m
constexpr double kEdge = 7;             // m

// Facts 4.1: time (s) and distance grow with the square of the index; this is its 0..1 part.
double index_part(size_t i) {
  const double part = static_cast<double>(i) / (kPoints - 1);
  return part * part;
}

// A quantity along `points` positions: value and deviation at the first and the last.
struct Ramp {
  double first = 0;
  double last = 0;
  double deviation_first = 0;
  double deviation_last = 0;
};

HeadPoint on_ramp(const Ramp& ramp, double part) {
  return {static_cast<float>(ramp.first + (ramp.last - ramp.first) * part),
          static_cast<float>(ramp.deviation_first +
                             (ramp.deviation_last - ramp.deviation_first) * part),
          static_cast<float>(part)};
}

std::vector<HeadPoint> quadratic(const Ramp& ramp) {
  std::vector<HeadPoint> points;
  for (size_t i = 0; i < kPoints; ++i) points.push_back(on_ramp(ramp, index_part(i)));
  return points;
}

// `lines` of 33 (y, z) pairs, then as many logarithms of deviations.
HeadPlan lines_plan(const char* name, std::span<const double> sides) {
  const size_t means = sides.size() * kPoints * 2;
  HeadPlan plan(name, 2 * means);
  for (size_t line = 0; line < sides.size(); ++line) {
    const size_t first = line * kPoints * 2;
    const double side = sides[line];
    plan.set_curve(first, 2, quadratic({side, side, 1, 1.5}));
    plan.set_curve(first + 1, 2, quadratic({kCameraHeight, kCameraHeight, 1, 1}));
    plan.set_curve(means + first, 2, quadratic({-1.5, 0.5, 1, 1}));
    plan.set_curve(means + first + 1, 2, quadratic({-1.5, 0, 1, 1}));
  }
  return plan;
}

// Six numbers and the logarithms of their deviations.
HeadPlan six_plan(const char* name, const std::array<double, 6>& centres,
                  const std::array<double, 6>& deviations, double log_deviation) {
  HeadPlan plan(name, 12);
  for (size_t i = 0; i < 6; ++i) {
    plan.set(i, centres[i], deviations[i]);
    plan.set(6 + i, log_deviation, 0.3);
  }
  return plan;
}

}  // namespace

HeadPlan lane_lines_plan() {
  constexpr std::array<double, 4> kSides{-3 * kLaneHalf, -kLaneHalf, kLaneHalf, 3 * kLaneHalf};
  return lines_plan("lane_lines", kSides);
}

HeadPlan lane_lines_prob_plan() {
  HeadPlan plan("lane_lines_prob", 8);
  for (size_t line = 0; line < 4; ++line) {
    const bool inner = line == 1 || line == 2;
    plan.set(2 * line, 0, 0.3);
    plan.set(2 * line + 1, inner ? 2 : 0.5, 0.4);  // the probability
  }
  return plan;
}

HeadPlan road_edges_plan() {
  constexpr std::array<double, 2> kSides{-kEdge, kEdge};
  return lines_plan("road_edges", kSides);
}

HeadPlan meta_plan() {
  HeadPlan plan("meta", 55);
  plan.set(0, 1.5, 0.4);  // engaged
  plan.fill(1, 54, -2, 0.4);
  return plan;
}

HeadPlan desire_pred_plan() {
  HeadPlan plan("desire_pred", 32);
  for (size_t i = 0; i < 32; ++i) plan.set(i, i % 8 == 0 ? 2 : -1, 0.4);
  return plan;
}

HeadPlan pose_plan() {
  return six_plan("pose", {kSpeed, 0, 0, 0, 0, 0}, {0.5, 0.3, 0.3, 0.3, 0.3, 0.3}, -1);
}

HeadPlan wide_from_device_euler_plan() {
  HeadPlan plan("wide_from_device_euler", 6);
  plan.fill(0, 3, 0, 0.06);
  plan.fill(3, 3, -1.5, 0.2);
  return plan;
}

HeadPlan road_transform_plan() {
  return six_plan("road_transform", {0, 0, kCameraHeight, 0, 0, 0}, {0.1, 0.1, 0.1, 0.1, 0.1, 0.1},
                  -1);
}

// 33 rows of position, velocity, acceleration, euler angles, rates; then logarithms of deviations.
HeadPlan trajectory_plan() {
  constexpr size_t kColumns = 15;
  constexpr size_t kMeans = kPoints * kColumns;
  HeadPlan plan("plan", 2 * kMeans);
  for (size_t column = 0; column < kColumns; ++column) {
    Ramp ramp{0, 0, 2, 2};
    if (column == 0) ramp = {0, 10 * kSpeed, 2, 3};  // x after 10 s
    if (column == 1) ramp = {0, 0, 2, 2.5};
    if (column == 3) ramp = {kSpeed, kSpeed, 2, 2};
    plan.set_curve(column, kColumns, quadratic(ramp));
    plan.set_curve(kMeans + column, kColumns, quadratic({-0.8, 0.5, 1.8, 1.8}));
  }
  return plan;
}

// Three leads (seen from now, in 2 s, in 4 s), each x, y, v, a at 0, 2, .. 10 s.
HeadPlan lead_plan() {
  constexpr size_t kTimes = 6;
  constexpr size_t kMeans = 3 * kTimes * 4;
  HeadPlan plan("lead", 2 * kMeans);
  for (size_t lead = 0; lead < 3; ++lead) {
    const size_t first = lead * kTimes * 4;
    const double near = 20 + kSpeed * static_cast<double>(lead);
    const std::array<Ramp, 4> ramps{{{near, near + 15, 3.5, 3.5},
                                     {0, 0, 3.5, 3.5},
                                     {kSpeed / 3, kSpeed / 3, 3.5, 3.5},
                                     {0, 0, 3.5, 3.5}}};
    for (size_t quantity = 0; quantity < ramps.size(); ++quantity) {
      std::vector<HeadPoint> means;
      std::vector<HeadPoint> deviations;
      for (size_t i = 0; i < kTimes; ++i) {
        const double part = static_cast<double>(i) / (kTimes - 1);
        means.push_back(on_ramp(ramps[quantity], part));
        deviations.push_back(on_ramp({0, 1, 3, 3}, part));
      }
      plan.set_curve(first + quantity, 4, means);
      plan.set_curve(kMeans + first + quantity, 4, deviations);
    }
  }
  return plan;
}

HeadPlan lead_prob_plan() {
  HeadPlan plan("lead_prob", 3);
  for (size_t lead = 0; lead < 3; ++lead) {
    plan.set(lead, 1.5 - 0.5 * static_cast<double>(lead), 0.4);
  }
  return plan;
}

HeadPlan desire_state_plan() {
  HeadPlan plan("desire_state", 8);
  plan.set(0, 2, 0.4);
  plan.fill(1, 7, -1, 0.4);
  return plan;
}

HeadPlan action_plan() {
  HeadPlan plan("action", 4);
  plan.set(0, 0, 0.02);  // curvature, 1/m
  plan.set(1, 0, 0.2);   // acceleration, m/s^2
  plan.fill(2, 2, -0.5, 0.1);
  return plan;
}

HeadPlan pad_plan() {
  HeadPlan plan("pad", 2);
  plan.fill(0, 2, 0, 0.1);
  return plan;
}

}  // namespace modeld::samples
