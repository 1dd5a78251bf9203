// A folder of pictures with their times: a camera without a video file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tools/replay/picture_source.h"

namespace modeld::replay {

// One picture. Times are those of CLOCK_BOOTTIME, ns.
struct FolderFrame {
  std::string file;
  uint32_t frame_id = 0;
  uint64_t timestamp_sof = 0;
  uint64_t timestamp_eof = 0;
};

// openpilot's rule for a camera state without a start of frame (interoperability facts 8.4).
constexpr uint64_t kExposureNs = 18'000'000;

// The list of a folder: its frames.csv, lines `file,frame_id,timestamp_sof,timestamp_eof` under a
// header of these names; without one, every picture called by its end of exposure in ns
// (`12345678900.png`), in that order, with ids from 0. kCorrupt names file and line; a file may not
// lie outside the folder.
Result<std::vector<FolderFrame>> list_image_folder(const std::filesystem::path& folder);

// PNG, JPEG, or raw NV12 without padding (NAME_WIDTHxHEIGHT.nv12), numbered as listed.
class ImageFolder final : public PictureSource {
 public:
  static Result<std::unique_ptr<PictureSource>> open(const std::filesystem::path& folder);

  FrameSize size() const override { return size_; }
  Result<PictureRead> read(uint32_t index, const Nv12Layout& layout,
                           std::span<std::byte> frame) override;
  const std::string& why() const override { return why_; }

 private:
  ImageFolder(std::filesystem::path folder, std::vector<FolderFrame> frames)
      : folder_(std::move(folder)), frames_(std::move(frames)) {}

  const std::filesystem::path folder_;
  const std::vector<FolderFrame> frames_;
  FrameSize size_;
  std::string why_;
};

}  // namespace modeld::replay
