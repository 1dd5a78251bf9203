// --frame NAME=WxH[:STRIDE:UV_OFFSET]: the geometry of a raw NV12 picture.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "runtime/base/result.h"
#include "warp/nv12_layout.h"

namespace modeld::modelctl {

struct FrameOption {
  std::string input;
  uint64_t width = 0;
  uint64_t height = 0;
  uint64_t stride = 0;     // bytes; the width if not given
  uint64_t uv_offset = 0;  // bytes; right behind the luma rows if not given
};

Result<FrameOption> parse_frame_option(const std::string& text);

// "NAME=VALUE", both not empty.
Result<std::pair<std::string, std::string>> split_assignment(const std::string& option,
                                                             const std::string& text);

}  // namespace modeld::modelctl
