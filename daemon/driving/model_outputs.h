// The road model's outputs after parsing. Plain numbers of fixed size: kept in one place and
// overwritten every frame. Source: facts 4.2.
#pragma once

#include <array>
#include <cstddef>

#include "daemon/driving/constants.h"
#include "daemon/driving/meta_layout.h"

namespace modeld::driving {

// Means and standard deviations of N values.
template <size_t N>
struct Estimate {
  std::array<float, N> mean{};
  std::array<float, N> deviation{};
};

struct ModelOutputs {
  Estimate<kIdxCount * kPlanWidth> plan;                         // [point][plan column]
  Estimate<kLaneLineCount * kIdxCount * kLineWidth> lane_lines;  // [line][point][y, z]
  Estimate<kRoadEdgeCount * kIdxCount * kLineWidth> road_edges;  // [edge][point][y, z]
  Estimate<kLeadCount * kLeadTrajectory * kLeadWidth> lead;      // [lead][time][x, y, v, a]
  Estimate<6> pose;            // translation (m/s), rotation (rad/s)
  Estimate<6> road_transform;  // translation (m), rotation (rad)
  Estimate<3> wide_from_device_euler;
  // Heads of earlier generations.
  bool has_sim_pose = false;
  Estimate<6> sim_pose;  // as pose
  bool has_desired_curvature = false;
  Estimate<1> desired_curvature;  // 1/m
  bool has_lat_planner_solution = false;
  Estimate<kIdxCount * kLatPlannerWidth> lat_planner_solution;  // [point][x, y, yaw, yaw rate]

  std::array<float, 2 * kLaneLineCount> lane_lines_prob{};  // odd entries are the lines'
  std::array<float, kLeadCount> lead_prob{};
  std::array<float, kDesireCount> desire_state{};
  std::array<float, kDesirePredictionCount * kDesireCount> desire_pred{};
  const MetaLayout* meta_layout = &kMetaLayouts[0];  // of what `meta` holds
  std::array<float, kMaxMetaSize> meta{};            // the first meta_layout->size are filled
  bool has_action = false;
  std::array<float, 2> action{};  // lateral, longitudinal (m/s^2); not parsed further

  float plan_at(size_t point, size_t column) const {
    return plan.mean[point * kPlanWidth + column];
  }
};

}  // namespace modeld::driving
