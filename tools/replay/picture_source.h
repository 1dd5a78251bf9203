// Where the pixels of a replayed camera come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "runtime/artifact/contract.h"
#include "runtime/base/result.h"
#include "warp/nv12_layout.h"

namespace modeld::replay {

enum class PictureRead : uint8_t {
  kRead,
  kMissing,  // there is no such picture: it would lie behind the end
  kBroken,   // it does not decode; why() says so
};

// Pictures by their number. Used by one thread.
class PictureSource {
 public:
  virtual ~PictureSource() = default;

  // Of every picture.
  virtual FrameSize size() const = 0;

  // Writes picture `index` (from 0) into `frame`, a buffer of `layout`; padding is left alone. A
  // picture of another size than the layout's is scaled (bilinear). Indices must not fall.
  virtual Result<PictureRead> read(uint32_t index, const Nv12Layout& layout,
                                   std::span<std::byte> frame) = 0;

  // Why the last read() brought nothing.
  virtual const std::string& why() const = 0;
};

// A folder of pictures or a video file.
Result<std::unique_ptr<PictureSource>> open_pictures(const std::filesystem::path& path);

}  // namespace modeld::replay
