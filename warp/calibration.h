// From the calibration angles and the cameras to the matrix of a warp. Source: facts 6.3 and 6.4.
#pragma once

#include <array>

#include "warp/camera_table.h"
#include "warp/transform.h"

namespace modeld {

// Row-major, double.
using Matrix3d = std::array<double, 9>;

// device_from_calib for roll, pitch, yaw in radians: Rz(yaw) Ry(pitch) Rx(roll), right-handed,
// through a quaternion like the original, so that the last bits agree.
Matrix3d rotation_from_euler(const std::array<float, 3>& rpy);

// K_camera * view_from_device * R(rpy) * inverse(K_model * view_from_device) in double: maps pixels
// of the model's virtual camera to pixels of the real one. Not validated: see check_transform.
Matrix3d road_matrix(const CameraIntrinsics& camera, const CameraIntrinsics& model,
                     const std::array<float, 3>& rpy);

// K_camera * inverse(K_model): the cabin's warp knows no calibration.
Matrix3d cabin_matrix(const CameraIntrinsics& camera, const CameraIntrinsics& model);

// The part of the cabin picture that the networks of 2021 look at, stretched to their 320x640. Of a
// 1928x1208 picture it is 358x717 pixels: at (1011, 102) the seat of a left-hand drive car's
// driver, at (415, 102) and mirrored that of a right-hand drive car's. Source: openpilot 0.8.8 to
// 0.8.12, the monitoring model's crop. Later cameras did not know these networks: of them the part
// under the same viewing angles is taken.
Matrix3d portrait_matrix(const CameraIntrinsics& camera, bool right_seat);

// Each entry rounded to float32: what a capture's transform input takes.
Matrix3f to_float(const Matrix3d& matrix);

}  // namespace modeld
