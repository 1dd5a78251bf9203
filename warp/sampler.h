// Warp of NV12 frames. The arithmetic (warp/README.md, facts 6.6) is part of the
// contract: every kernel here, and every backend's, gives the same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "warp/nv12_layout.h"
#include "warp/transform.h"

namespace modeld {

enum class WarpOutput : uint8_t {
  // Six planes of out_height/2 x out_width/2 bytes: Y of even rows, even columns; odd rows, even
  // columns; even rows, odd columns; odd rows, odd columns; U; V.
  kYuv420Planes,
  // One plane of out_height x out_width luma bytes.
  kLuma,
};

enum class WarpFilter : uint8_t {
  kNearest,
  // Between the four pixels around, in 32nds of a pixel: networks up to 2025 were given this.
  kBilinear,
};

// What a warp makes of a camera picture; fixed when a capture is recorded.
struct WarpSpec {
  uint32_t width = 0;  // of the camera
  uint32_t height = 0;
  uint32_t out_width = 0;
  uint32_t out_height = 0;
  WarpOutput output = WarpOutput::kYuv420Planes;
  std::optional<uint8_t> border_fill;  // absent: clamp to the edge; nearest only
  WarpFilter filter = WarpFilter::kNearest;

  uint64_t output_bytes() const;
  // Rows that can be computed apart: of one luma row each, or of two luma rows and a chroma row.
  uint32_t row_units() const;
  // Output sizes must be 1 to kMaxNv12Side, and even for kYuv420Planes; no fill with kBilinear.
  Status check() const;
};

// The spec is sound, the layout is checked and of the spec's size.
Status check_warp(const WarpSpec& spec, const Nv12Layout& layout);

// All functions below need a spec and layout that passed check_warp, layout.bytes_in_use()
// readable bytes at `frame` and spec.output_bytes() writable bytes at `out`. Any matrix is safe
// (policy is check_transform's); a NaN coordinate gives the byte 0. They allocate nothing, keep no
// state and may run on any number of threads.

// The plain version: the meaning of the others.
void warp_scalar(const WarpSpec& spec, const Nv12Layout& layout, const uint8_t* frame,
                 const Matrix3f& matrix, uint8_t* out);

// The fastest kernel of this processor.
void warp(const WarpSpec& spec, const Nv12Layout& layout, const uint8_t* frame,
          const Matrix3f& matrix, uint8_t* out);

// Row units [first, first + count) of the same output (`out` is its start): for splitting a warp
// over threads.
void warp_rows(const WarpSpec& spec, const Nv12Layout& layout, const uint8_t* frame,
               const Matrix3f& matrix, uint8_t* out, uint32_t first, uint32_t count);

// The kernels this build and processor have, slowest first; the last one is what warp() uses.
enum class WarpKernel : uint8_t { kScalar, kAvx2, kAvx512 };
std::span<const WarpKernel> available_warp_kernels();
std::string_view to_string(WarpKernel kernel);

// warp() with a given kernel (kBilinear has the scalar one only), which must be available: for
// tests and benches.
void warp_with(WarpKernel kernel, const WarpSpec& spec, const Nv12Layout& layout,
               const uint8_t* frame, const Matrix3f& matrix, uint8_t* out);

}  // namespace modeld
