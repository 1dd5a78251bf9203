#include "tools/feed/picture_search.h"

#include <system_error>

#include "tools/feed/program_files.h"
#include "tools/images/draw.h"
#include "tools/images/image_file.h"

namespace modeld {
namespace {

constexpr std::string_view kRoad = "road-frames/tici_road_1928x1208.jpg";
constexpr std::string_view kCabin = "portraits/astronaut.png";

}  // namespace

std::optional<std::filesystem::path> find_recorded_material() {
  return find_above_program(std::filesystem::path("shared") / "data");
}

Result<ScenePictures> load_scene_pictures(const std::optional<std::filesystem::path>& folder,
                                          uint32_t width, uint32_t height) {
  ScenePictures pictures;
  if (!folder) {
    MODELD_ASSIGN(pictures.road, draw_road_scene(width, height));
    MODELD_ASSIGN(pictures.cabin, draw_cabin_scene(width, height));
    pictures.source = "drawn";
    return pictures;
  }
  MODELD_ASSIGN(pictures.road, load_image(*folder / kRoad));
  MODELD_ASSIGN(pictures.cabin, load_image(*folder / kCabin));
  pictures.source = std::string(kRoad) + ", " + std::string(kCabin);
  return pictures;
}

}  // namespace modeld
