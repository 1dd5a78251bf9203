// The driving look-alike without any history in it.
#pragma once

#include <span>

#include "tools/samples/layers.h"
#include "tools/samples/output_slices.h"

namespace modeld::samples {

constexpr int64_t kDrivingOutputs = 2580;
constexpr int64_t kDrivingFeatures = 512;
constexpr int64_t kDrivingSteps = 25;  // of context, the current frame included

// Facts/openpilot-interop 4.4, era D/E: images uint8 (1,12,128,256), the rest float16.
struct DrivingInputs {
  Value img;
  Value big_img;
  Value desire_pulse;        // (1,25,8)
  Value traffic_convention;  // (1,2)
  Value action_t;            // (1,2)
  Value features_buffer;     // (1,24,512)
};

// (1, kDrivingOutputs) float16. Equal weights on every call.
Value driving_network(GraphBuilder& graph, const DrivingInputs& inputs);

// The same inputs and outputs around a smaller trunk with weights of its own: a stand-in for the
// network that a fallback runs.
Value small_driving_network(GraphBuilder& graph, const DrivingInputs& inputs);

std::vector<HeadSlice> driving_slices();

// The same network, weights included, cut in two where the features leave the vision part (facts
// 4.2 and 4.4, eras B and C): each half has its heads in the order of the whole.
struct DrivingPolicyInputs {
  Value desire_pulse;        // (1,25,8)
  Value traffic_convention;  // (1,2)
  Value action_t;            // (1,2)
  Value features_buffer;     // (1,25,512), this frame's features last
};
// (1, size of its slices) float16.
Value driving_vision_network(GraphBuilder& graph, const Value& img, const Value& big_img);
Value driving_policy_network(GraphBuilder& graph, const DrivingPolicyInputs& inputs);

std::vector<HeadSlice> driving_vision_slices();
std::vector<HeadSlice> driving_policy_slices();

}  // namespace modeld::samples
