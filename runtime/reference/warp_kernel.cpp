// Warp by the plain sampler of the warp room.
#include <cstring>

#include "runtime/reference/kernel.h"
#include "warp/sampler.h"

namespace modeld::reference {
namespace {

WarpSpec spec_of(const Attributes& attributes, const Nv12Layout& layout) {
  WarpSpec spec;
  spec.width = layout.width;
  spec.height = layout.height;
  spec.out_width = static_cast<uint32_t>(attributes.get_int("out_width"));
  spec.out_height = static_cast<uint32_t>(attributes.get_int("out_height"));
  spec.output =
      attributes.get_string("layout") == "luma" ? WarpOutput::kLuma : WarpOutput::kYuv420Planes;
  if (attributes.has("border_fill")) {
    spec.border_fill = static_cast<uint8_t>(attributes.get_int("border_fill"));
  }
  return spec;
}

}  // namespace

Result<KernelPointer> make_warp_kernel(const KernelSpec& spec, const Nv12Layout& layout) {
  const WarpSpec warp = spec_of(spec.attributes, layout);
  MODELD_TRY(check_warp(warp, layout));
  return kernel_of([warp, layout](const KernelIo& io) {
    Matrix3f matrix;
    std::memcpy(matrix.m.data(), io.inputs[1], sizeof(matrix.m));
    warp_scalar(warp, layout, reinterpret_cast<const uint8_t*>(io.inputs[0]), matrix,
                reinterpret_cast<uint8_t*>(io.outputs[0]));
  });
}

}  // namespace modeld::reference
