// The cameras openpilot devices carry, and the virtual cameras the models were trained on.
// Source: interoperability facts 6.1 and 6.2.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "runtime/base/result.h"

namespace modeld {

// A pinhole camera: width and height in pixels, focal length and centre in pixels.
struct CameraIntrinsics {
  uint32_t width = 0;
  uint32_t height = 0;
  double focal = 0.0;
  double center_x = 0.0;
  double center_y = 0.0;

  // False for a camera the device does not have.
  constexpr bool present() const { return width != 0; }
  bool operator==(const CameraIntrinsics&) const = default;
};

// The cameras of one device; `name` is "ar_ox", "os" or "neo". Lives for the whole process.
struct CameraSet {
  std::string_view name;
  CameraIntrinsics narrow_road;
  CameraIntrinsics wide_road;
  CameraIntrinsics cabin;
};

// By DeviceState.deviceType and FrameData.sensor of the narrow camera, both as schema enumerant
// names ("tici", "ox03c10"). kNotFound for a pair that is not in the table, listing the pairs that
// are: guessing intrinsics would bend the road.
Result<const CameraSet*> find_cameras(std::string_view device_type, std::string_view sensor);

// Whose set a cabin buffer `width` pixels wide belongs to: 1344 is os, everything else ar_ox.
const CameraSet& cabin_cameras_by_width(uint32_t width);

// Targets of the warps.
constexpr CameraIntrinsics kMedModelCamera{512, 256, 910.0, 256.0, 47.6};
constexpr CameraIntrinsics kSBigModelCamera{512, 256, 455.0, 256.0, 0.5 * (256.0 + 47.6)};
constexpr CameraIntrinsics kCabinModelCamera{1440, 960, 567.0, 720.0, 480.0 - (1208 - 960) / 2.0};

}  // namespace modeld
