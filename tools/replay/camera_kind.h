// The three cameras of a route: what each is called where.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace modeld::replay {

enum class Camera : uint8_t { kNarrowRoad, kWideRoad, kCabin };
constexpr size_t kCameraCount = 3;
constexpr std::array<Camera, kCameraCount> kCameras = {Camera::kNarrowRoad, Camera::kWideRoad,
                                                       Camera::kCabin};

// Sources: interoperability facts 1.8 (stream types), 2.4 (services), 8.1 (files).
struct CameraNames {
  std::string_view name;           // "narrow_road": as a pipeline's source and in reports
  std::string_view file;           // stem of its video file or picture folder: "fcamera"
  std::string_view state_service;  // newest name
  std::string_view index_service;  // newest name; of the video file's frames
  uint32_t stream_type = 0;
};

const CameraNames& names_of(Camera camera);

constexpr size_t index_of(Camera camera) {
  return static_cast<size_t>(camera);
}

template <typename T>
using PerCamera = std::array<T, kCameraCount>;

// The low-resolution copy of the narrow camera.
constexpr std::string_view kPreviewFile = "qcamera";
constexpr std::string_view kPreviewIndexService = "qNarrowRoadEncodeIdx";

}  // namespace modeld::replay
