// A still picture turned into camera frames that differ: a window wandering over it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/result.h"
#include "tools/images/rgb_image.h"
#include "warp/nv12_layout.h"

namespace modeld {

// Immutable after creation; write() may run on any thread.
class MovingPicture {
 public:
  // Scales `image` to nine eighths of the frame, aspect not kept, and converts it once.
  static Result<MovingPicture> create(const RgbImage& image, const Nv12Layout& frame);

  // Frame number `step` into a buffer of the layout; padding is left alone. The path repeats after
  // about five minutes at 20 Hz.
  void write(uint64_t step, std::span<std::byte> buffer) const;

 private:
  MovingPicture(const Nv12Layout& frame, const Nv12Layout& whole)
      : frame_(frame), whole_(whole), bytes_(whole.length) {}

  Nv12Layout frame_;
  Nv12Layout whole_;
  std::vector<std::byte> bytes_;
};

}  // namespace modeld
