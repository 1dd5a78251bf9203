// Pictures into a video file, through libav.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/result.h"
#include "tools/replay/yuv_picture.h"

namespace modeld::replay {

struct VideoFormat {
  std::string encoder;                                       // libav's name
  std::vector<std::pair<std::string, std::string>> options;  // libav's, of the encoder
  uint32_t width = 0;                                        // even
  uint32_t height = 0;                                       // even
};

// Every picture by itself, exactly; fast. For `.mkv`.
VideoFormat lossless_ffv1(uint32_t width, uint32_t height);
// The same as HEVC without re-ordered pictures, for a raw stream `.hevc` as openpilot names them;
// several times slower.
VideoFormat lossless_hevc(uint32_t width, uint32_t height);

// 4:2:0, 20 pictures a second; the container follows from the name's ending. The same pictures give
// the same file. Used by one thread.
class VideoWriter {
 public:
  // kUnsupported for an encoder this libav lacks.
  static Result<std::unique_ptr<VideoWriter>> create(const std::filesystem::path& path,
                                                     const VideoFormat& format);
  ~VideoWriter();
  VideoWriter(const VideoWriter&) = delete;
  VideoWriter& operator=(const VideoWriter&) = delete;

  // A picture of the format's size (kInvalidArgument otherwise); copied.
  Status add(const YuvPicture& picture);
  // Writes what the encoder still holds and the file's end. Nothing may be added afterwards.
  Status finish();

 private:
  struct Encoder;
  explicit VideoWriter(std::unique_ptr<Encoder> encoder);
  std::unique_ptr<Encoder> encoder_;
};

}  // namespace modeld::replay
