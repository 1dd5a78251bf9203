#include "runtime/device/warp_spec.h"

namespace modeld {

WarpSpec warp_spec_of(const Attributes& attributes, const Nv12Layout& layout) {
  WarpSpec spec;
  spec.width = layout.width;
  spec.height = layout.height;
  spec.out_width = static_cast<uint32_t>(attributes.get_int("out_width"));
  spec.out_height = static_cast<uint32_t>(attributes.get_int("out_height"));
  spec.output =
      attributes.get_string("layout") == "luma" ? WarpOutput::kLuma : WarpOutput::kYuv420Planes;
  spec.filter =
      attributes.get_string("filter") == "bilinear" ? WarpFilter::kBilinear : WarpFilter::kNearest;
  if (attributes.has("border_fill")) {
    spec.border_fill = static_cast<uint8_t>(attributes.get_int("border_fill"));
  }
  return spec;
}

}  // namespace modeld
