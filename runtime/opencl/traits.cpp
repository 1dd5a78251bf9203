#include "runtime/opencl/traits.h"

#include <algorithm>

namespace modeld::opencl {

std::string Traits::key() const {
  std::string text;
  for (const uint32_t part :
       {vector, tile_rows, tile_vectors, group, reduce_group, vectors_per_item,
        uint32_t{has_double}, uint32_t{store_half}, static_cast<uint32_t>(division)}) {
    text += (text.empty() ? "" : ".") + std::to_string(part);
  }
  return text;
}

Traits default_traits(const DeviceInfo& device) {
  Traits traits;
  traits.has_double = device.has_double();
  if ((device.single_config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0) {
    traits.division = Division::kNative;
  } else {
    traits.division = traits.has_double ? Division::kDouble : Division::kIntegers;
  }
  if (!device.software()) return traits;
  traits.vector = std::clamp(device.float_vector_width, 4u, 16u);
  traits.vector = traits.vector >= 16 ? 16 : (traits.vector >= 8 ? 8 : 4);
  traits.tile_rows = traits.vector == 16 ? 8 : 4;
  traits.tile_vectors = 2;
  traits.group = 1;
  traits.reduce_group = 1;
  traits.vectors_per_item = 16;
  traits.store_half = false;
  return traits;
}

std::string build_options(const Traits& traits) {
  std::string options = "-cl-std=CL1.2";
  if (traits.division == Division::kNative) options += " -cl-fp32-correctly-rounded-divide-sqrt";
  return options;
}

}  // namespace modeld::opencl
