// The two matrices of the road model, from calibration and camera table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/health/frame_counters.h"
#include "daemon/inputs/vehicle_inputs.h"
#include "runtime/artifact/contract.h"
#include "warp/camera_table.h"
#include "warp/transform.h"

namespace modeld {

// Which road cameras exist; decided once, at discovery.
enum class RoadStreams : uint8_t { kNarrowAndWide, kNarrowOnly, kWideOnly };

// Source: interoperability facts 6.4 and 7.3. Matrices are made again when a calibration message
// arrives or the camera becomes another one; they are usable only while reason() is kNone. An
// invalid calibration is not papered over with the last valid one. Not thread-safe.
class RoadTransforms {
 public:
  // Sizes of the warps' outputs, from the artifact's contract.
  RoadTransforms(RoadStreams streams, FrameSize narrow_output, FrameSize wide_output);

  // After every poll. Allocates only when something changed.
  void update(const VehicleInputs& values);

  // kNone, kNotCalibrated, kUnknownCamera or kTransform.
  InvalidReason reason() const { return reason_; }
  const std::string& detail() const { return detail_; }  // one line for people; empty if kNone
  // A calibration and the camera states it needs have been seen; never becomes false again.
  bool calibrated() const { return calibrated_; }

  // For the model's narrow and wide image. Row-major, model pixel -> camera pixel.
  const Matrix3f& narrow() const { return narrow_; }
  const Matrix3f& wide() const { return wide_; }
  // The real cameras behind the two images; null before calibrated() and for unknown cameras.
  const CameraIntrinsics* narrow_camera() const { return narrow_camera_; }
  const CameraIntrinsics* wide_camera() const { return wide_camera_; }

 private:
  void choose_cameras(const VehicleInputs& values);
  void make_matrices(const VehicleInputs& values);
  void refuse(InvalidReason reason, std::string detail);

  const RoadStreams streams_;
  const FrameSize narrow_output_;
  const FrameSize wide_output_;
  bool calibrated_ = false;
  uint64_t calibrations_ = 0;
  std::optional<uint32_t> camera_key_;  // device type and sensor
  InvalidReason reason_ = InvalidReason::kNotCalibrated;
  std::string detail_ = "no calibration so far";
  const CameraIntrinsics* narrow_camera_ = nullptr;
  const CameraIntrinsics* wide_camera_ = nullptr;
  Matrix3f narrow_;
  Matrix3f wide_;
};

}  // namespace modeld
