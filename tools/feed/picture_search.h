// Which pictures the camera tool and the demonstration show.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "runtime/base/result.h"
#include "tools/images/rgb_image.h"

namespace modeld {

struct ScenePictures {
  RgbImage road;
  RgbImage cabin;
  std::string source;  // for people: the files, or "drawn"
};

// The folder of recorded material beside the checkout this program was built in, if it is there.
std::optional<std::filesystem::path> find_recorded_material();

// From `folder` (road-frames/tici_road_1928x1208.jpg and portraits/astronaut.png in it, as the
// recorded material names them); drawn ones of `width` x `height` where it is not given. A folder
// without the pictures is kNotFound.
Result<ScenePictures> load_scene_pictures(const std::optional<std::filesystem::path>& folder,
                                          uint32_t width, uint32_t height);

}  // namespace modeld
