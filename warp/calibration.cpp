#include "warp/calibration.h"

#include <cmath>

namespace modeld {
namespace {

struct Quaternion {
  double w = 1.0;
  double x = 0.0;
  double y = 0.0;
  double z = 0.0;
};

Quaternion operator*(const Quaternion& a, const Quaternion& b) {
  return {
      a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
      a.w * b.y + a.y * b.w + a.z * b.x - a.x * b.z, a.w * b.z + a.z * b.w + a.x * b.y - a.y * b.x};
}

Matrix3d to_matrix(const Quaternion& q) {
  const double x2 = 2.0 * q.x;
  const double y2 = 2.0 * q.y;
  const double z2 = 2.0 * q.z;
  return {1.0 - (y2 * q.y + z2 * q.z), y2 * q.x - z2 * q.w,         z2 * q.x + y2 * q.w,
          y2 * q.x + z2 * q.w,         1.0 - (x2 * q.x + z2 * q.z), z2 * q.y - x2 * q.w,
          z2 * q.x - y2 * q.w,         z2 * q.y + x2 * q.w,         1.0 - (x2 * q.x + y2 * q.y)};
}

Matrix3d multiply(const Matrix3d& a, const Matrix3d& b) {
  Matrix3d product{};
  for (size_t row = 0; row < 3; ++row) {
    for (size_t column = 0; column < 3; ++column) {
      double sum = 0.0;
      for (size_t k = 0; k < 3; ++k) sum += a[3 * row + k] * b[3 * k + column];
      product[3 * row + column] = sum;
    }
  }
  return product;
}

Matrix3d intrinsic_matrix(const CameraIntrinsics& camera) {
  return {camera.focal, 0.0, camera.center_x, 0.0, camera.focal, camera.center_y, 0.0, 0.0, 1.0};
}

Matrix3d inverse_intrinsic_matrix(const CameraIntrinsics& camera) {
  const double f = camera.focal;
  return {1.0 / f, 0.0, -camera.center_x / f, 0.0, 1.0 / f, -camera.center_y / f, 0.0, 0.0, 1.0};
}

// Device: x forward, y right, z down. View: x right, y down, z forward.
constexpr Matrix3d kViewFromDevice{0, 1, 0, 0, 0, 1, 1, 0, 0};
constexpr Matrix3d kDeviceFromView{0, 0, 1, 1, 0, 0, 0, 1, 0};

}  // namespace

Matrix3d rotation_from_euler(const std::array<float, 3>& rpy) {
  const auto half = [&](size_t i) { return 0.5 * static_cast<double>(rpy[i]); };
  const Quaternion roll{std::cos(half(0)), std::sin(half(0)), 0.0, 0.0};
  const Quaternion pitch{std::cos(half(1)), 0.0, std::sin(half(1)), 0.0};
  const Quaternion yaw{std::cos(half(2)), 0.0, 0.0, std::sin(half(2))};
  return to_matrix(yaw * pitch * roll);
}

Matrix3d road_matrix(const CameraIntrinsics& camera, const CameraIntrinsics& model,
                     const std::array<float, 3>& rpy) {
  const Matrix3d calib_from_model = multiply(kDeviceFromView, inverse_intrinsic_matrix(model));
  const Matrix3d camera_from_device = multiply(intrinsic_matrix(camera), kViewFromDevice);
  return multiply(multiply(camera_from_device, rotation_from_euler(rpy)), calib_from_model);
}

Matrix3d cabin_matrix(const CameraIntrinsics& camera, const CameraIntrinsics& model) {
  return multiply(intrinsic_matrix(camera), inverse_intrinsic_matrix(model));
}

Matrix3d portrait_matrix(const CameraIntrinsics& camera, bool right_seat) {
  constexpr double kAcross = 358.0 / 320.0;
  constexpr double kDown = 717.0 / 640.0;
  // Middles of pixels meet middles of pixels.
  const double down = 102 + kDown / 2 - 0.5;
  const Matrix3d part =
      right_seat ? Matrix3d{-kAcross, 0, 415 + 358 - kAcross / 2 - 0.5, 0, kDown, down, 0, 0, 1}
                 : Matrix3d{kAcross, 0, 1011 + kAcross / 2 - 0.5, 0, kDown, down, 0, 0, 1};
  const CameraIntrinsics& stated = cabin_cameras_by_width(1928).cabin;
  if (camera.width == stated.width) return part;
  return multiply(cabin_matrix(camera, stated), part);
}

Matrix3f to_float(const Matrix3d& matrix) {
  Matrix3f rounded;
  for (size_t i = 0; i < matrix.size(); ++i) rounded.m[i] = static_cast<float>(matrix[i]);
  return rounded;
}

}  // namespace modeld
