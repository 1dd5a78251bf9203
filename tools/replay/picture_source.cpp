#include "tools/replay/picture_source.h"

#include <system_error>

#include "tools/replay/image_folder.h"
#include "tools/replay/video_source.h"

namespace modeld::replay {

Result<std::unique_ptr<PictureSource>> open_pictures(const std::filesystem::path& path) {
  std::error_code failure;
  return std::filesystem::is_directory(path, failure) ? ImageFolder::open(path)
                                                      : VideoSource::open(path);
}

}  // namespace modeld::replay
