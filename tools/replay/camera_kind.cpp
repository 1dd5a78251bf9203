#include "tools/replay/camera_kind.h"

#include "ipc/frames/frame_source.h"

namespace modeld::replay {

const CameraNames& names_of(Camera camera) {
  static constexpr PerCamera<CameraNames> kNames = {{
      {"narrow_road", "fcamera", "narrowRoadCameraState", "narrowRoadEncodeIdx",
       ipc::kNarrowRoadStream},
      {"wide_road", "ecamera", "wideRoadCameraState", "wideRoadEncodeIdx", ipc::kWideRoadStream},
      {"cabin", "dcamera", "cabinCameraState", "cabinEncodeIdx", ipc::kCabinStream},
  }};
  return kNames[index_of(camera)];
}

}  // namespace modeld::replay
