#include "warp/camera_table.h"

#include <string>

namespace modeld {
namespace {

// Every real camera's centre is the middle of its picture.
constexpr CameraIntrinsics centered(uint32_t width, uint32_t height, double focal) {
  return {width, height, focal, width / 2.0, height / 2.0};
}

constexpr CameraSet kArOx{"ar_ox", centered(1928, 1208, 2648.0), centered(1928, 1208, 567.0),
                          centered(1928, 1208, 567.0)};
constexpr CameraSet kOs{"os", centered(1344, 760, 1522.0 * 3 / 4),
                        centered(1344, 760, 567.0 * 3 / 4), centered(1344, 760, 567.0 * 3 / 4)};
constexpr CameraSet kNeo{"neo", centered(1164, 874, 910.0), {}, centered(816, 612, 650.0)};

struct Row {
  std::string_view device_type;
  std::string_view sensor;
  const CameraSet* cameras;
};

constexpr std::array<Row, 14> kRows{{{"neo", "unknown", &kNeo},
                                     {"tici", "unknown", &kArOx},
                                     {"unknown", "ar0231", &kArOx},
                                     {"unknown", "ox03c10", &kArOx},
                                     {"pc", "unknown", &kArOx},
                                     {"tici", "ar0231", &kArOx},
                                     {"tici", "ox03c10", &kArOx},
                                     {"tici", "os04c10", &kOs},
                                     {"tizi", "ar0231", &kArOx},
                                     {"tizi", "ox03c10", &kArOx},
                                     {"tizi", "os04c10", &kOs},
                                     {"mici", "ar0231", &kArOx},
                                     {"mici", "ox03c10", &kArOx},
                                     {"mici", "os04c10", &kOs}}};

std::string pair_text(std::string_view device_type, std::string_view sensor) {
  return std::string(device_type) + "/" + std::string(sensor);
}

}  // namespace

Result<const CameraSet*> find_cameras(std::string_view device_type, std::string_view sensor) {
  std::string known;
  for (const Row& row : kRows) {
    if (row.device_type == device_type && row.sensor == sensor) return row.cameras;
    known += known.empty() ? "one of " : " ";
    known += pair_text(row.device_type, row.sensor);
  }
  return Error(ErrorCode::kNotFound, "no camera intrinsics for this device type and sensor")
      .expecting(std::move(known), pair_text(device_type, sensor));
}

const CameraSet& cabin_cameras_by_width(uint32_t width) {
  return width == kOs.cabin.width ? kOs : kArOx;
}

}  // namespace modeld
