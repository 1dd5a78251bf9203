// What kernels are shaped by on a device, beside the program itself.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/opencl/device_info.h"

namespace modeld::opencl {

// How float32 division is made correctly rounded, which warps need (warp/README.md).
enum class Division : uint8_t {
  kNative,    // the device rounds correctly when built with the flag for it
  kDouble,    // by way of double; double rounding is innocuous for a quotient of floats
  kIntegers,  // long division of the significands
};

// What changes how fast a kernel is, and never what it computes beyond rounding.
struct KernelShape {
  // Elements of one vector operation: 16, 8 or 4.
  uint32_t vector = 4;
  // Register tile of products: rows, and vectors per row.
  uint32_t tile_rows = 4;
  uint32_t tile_vectors = 1;
  // Work-items of a group in kernels whose items are independent.
  uint32_t group = 64;
  // Work-items that share one reduction through local memory; 1: each reduces alone.
  uint32_t reduce_group = 64;
  // Vectors one work-item of a pointwise kernel handles.
  uint32_t vectors_per_item = 1;

  bool operator==(const KernelShape&) const = default;
};

struct Traits : KernelShape {
  bool has_double = false;
  // 16-bit floats stay 16 bits wide between kernels; else they are stored as float32.
  bool store_half = true;
  Division division = Division::kNative;

  // Part of the key of cached binaries and of tuning files.
  std::string key() const;
};

// Sane defaults per device class: many independent items with short vectors for GPUs, few items
// with long vectors and no groups for processors. Capabilities are used as probed.
Traits default_traits(const DeviceInfo& device);

// The options kernels are built with.
std::string build_options(const Traits& traits);

}  // namespace modeld::opencl
