// Warp by the plain sampler of the warp room.
#include <cstring>

#include "runtime/device/warp_spec.h"
#include "runtime/reference/kernel.h"

namespace modeld::reference {
Result<KernelPointer> make_warp_kernel(const KernelSpec& spec, const Nv12Layout& layout) {
  const WarpSpec warp = warp_spec_of(spec.attributes, layout);
  MODELD_TRY(check_warp(warp, layout));
  return kernel_of([warp, layout](const KernelIo& io) {
    Matrix3f matrix;
    std::memcpy(matrix.m.data(), io.inputs[1], sizeof(matrix.m));
    warp_scalar(warp, layout, reinterpret_cast<const uint8_t*>(io.inputs[0]), matrix,
                reinterpret_cast<uint8_t*>(io.outputs[0]));
  });
}

}  // namespace modeld::reference
