// The heads of the driving sample: layout of facts/openpilot-interop 4.3 (2580 numbers), values a
// slow car in the middle lane of a straight road would have.
#pragma once

#include <vector>

#include "tools/samples/head_plan.h"

namespace modeld::samples {

// Every head's plan; which one a head reads from is the network's business.
HeadPlan lane_lines_plan();
HeadPlan lane_lines_prob_plan();
HeadPlan road_edges_plan();
HeadPlan meta_plan();
HeadPlan desire_pred_plan();
HeadPlan pose_plan();
HeadPlan wide_from_device_euler_plan();
HeadPlan road_transform_plan();
HeadPlan trajectory_plan();  // head `plan`
HeadPlan lead_plan();
HeadPlan lead_prob_plan();
HeadPlan desire_state_plan();
HeadPlan action_plan();
HeadPlan pad_plan();

}  // namespace modeld::samples
