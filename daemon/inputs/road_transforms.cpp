#include "daemon/inputs/road_transforms.h"

#include <utility>

#include "daemon/inputs/topic_inputs.h"
#include "warp/calibration.h"

namespace modeld {

RoadTransforms::RoadTransforms(RoadStreams streams, FrameSize narrow_output, FrameSize wide_output)
    : streams_(streams), narrow_output_(narrow_output), wide_output_(wide_output) {}

void RoadTransforms::refuse(InvalidReason reason, std::string detail) {
  reason_ = reason;
  detail_ = std::move(detail);
}

void RoadTransforms::update(const VehicleInputs& values) {
  if (values.calibrations == 0 || !values.camera_state_seen || !values.device_state_seen) return;
  const uint32_t key = uint32_t{values.device_type} << 16 | values.sensor;
  if (values.calibrations == calibrations_ && camera_key_ == key) return;
  calibrated_ = true;
  calibrations_ = values.calibrations;
  camera_key_ = key;
  reason_ = InvalidReason::kNone;
  detail_.clear();
  choose_cameras(values);
  if (reason_ == InvalidReason::kNone) make_matrices(values);
}

void RoadTransforms::choose_cameras(const VehicleInputs& values) {
  narrow_camera_ = wide_camera_ = nullptr;
  const auto cameras =
      find_cameras(device_type_name(values.device_type), sensor_name(values.sensor));
  if (!cameras.ok()) return refuse(InvalidReason::kUnknownCamera, to_string(cameras.error()));
  // With one stream the same camera feeds both images.
  const bool wide_only = streams_ == RoadStreams::kWideOnly;
  const bool narrow_only = streams_ == RoadStreams::kNarrowOnly;
  const CameraIntrinsics& narrow = wide_only ? (*cameras)->wide_road : (*cameras)->narrow_road;
  const CameraIntrinsics& wide = narrow_only ? (*cameras)->narrow_road : (*cameras)->wide_road;
  if (!narrow.present() || !wide.present()) {
    return refuse(InvalidReason::kUnknownCamera,
                  "camera set " + std::string((*cameras)->name) + " has no wide road camera");
  }
  narrow_camera_ = &narrow;
  wide_camera_ = &wide;
}

void RoadTransforms::make_matrices(const VehicleInputs& values) {
  if (!values.calibration_complete) {
    return refuse(InvalidReason::kTransform, "calibration message without three angles");
  }
  narrow_ = to_float(road_matrix(*narrow_camera_, kMedModelCamera, values.rpy_calib));
  wide_ = to_float(road_matrix(*wide_camera_, kSBigModelCamera, values.rpy_calib));
  const auto narrow_check = check_transform(narrow_, narrow_output_.width, narrow_output_.height);
  const auto wide_check = check_transform(wide_, wide_output_.width, wide_output_.height);
  if (!narrow_check.ok()) {
    return refuse(InvalidReason::kTransform, "narrow road: " + to_string(narrow_check.error()));
  }
  if (!wide_check.ok()) {
    return refuse(InvalidReason::kTransform, "wide road: " + to_string(wide_check.error()));
  }
}

}  // namespace modeld
