#include "warp/sampler.h"

#include <array>
#include <cassert>
#include <limits>
#include <string>

#include "warp/row_kernels.h"

namespace modeld {
namespace {

using warp_detail::RowJob;
using warp_detail::RowKernel;
using warp_detail::SourcePlane;

RowKernel kernel_function(WarpKernel kernel, const WarpSpec& spec, const Nv12Layout& layout) {
  if (spec.filter == WarpFilter::kBilinear) return warp_detail::sample_row_bilinear;
#if MODELD_WARP_X86
  // The vector kernels count bytes in 32-bit lanes and read four at a time.
  const bool narrow =
      layout.width >= 4 && layout.bytes_in_use() <= std::numeric_limits<int32_t>::max();
  if (kernel == WarpKernel::kAvx512 && narrow) return warp_detail::sample_row_avx512;
  if (kernel == WarpKernel::kAvx2 && narrow) return warp_detail::sample_row_avx2;
#else
  (void)kernel;
  (void)layout;
#endif
  return warp_detail::sample_row_scalar;
}

struct KernelList {
  std::array<WarpKernel, 3> kernels{};
  size_t count = 0;
};

KernelList probe_kernels() {
  KernelList list;
  list.kernels[list.count++] = WarpKernel::kScalar;
#if MODELD_WARP_X86
  if (__builtin_cpu_supports("avx2")) list.kernels[list.count++] = WarpKernel::kAvx2;
  if (__builtin_cpu_supports("avx512f")) list.kernels[list.count++] = WarpKernel::kAvx512;
#endif
  return list;
}

SourcePlane luma_plane(const WarpSpec& spec, const Nv12Layout& layout, const uint8_t* frame) {
  return {frame,
          layout.stride,
          1,
          static_cast<float>(spec.width - 1),
          static_cast<float>(spec.height - 1),
          spec.border_fill.has_value(),
          spec.border_fill.value_or(0),
          static_cast<uint64_t>(layout.stride) * (layout.height - 1) + layout.width};
}

SourcePlane chroma_plane(const WarpSpec& spec, const Nv12Layout& layout, const uint8_t* frame) {
  SourcePlane plane = luma_plane(spec, layout, frame + layout.uv_offset);
  plane.pixel_step = 2;
  plane.max_x = static_cast<float>(spec.width / 2 - 1);
  plane.max_y = static_cast<float>(spec.height / 2 - 1);
  plane.bytes = layout.bytes_in_use() - layout.uv_offset;
  return plane;
}

void luma_rows(RowKernel kernel, const WarpSpec& spec, const SourcePlane& plane,
               const Matrix3f& matrix, uint8_t* out, uint32_t first, uint32_t count) {
  RowJob job{matrix.m, 0.0f, 0.0f, 1.0f, spec.out_width, nullptr, nullptr};
  for (uint32_t y = first; y < first + count; ++y) {
    job.y = static_cast<float>(y);
    job.first = out + static_cast<size_t>(y) * spec.out_width;
    kernel(plane, job);
  }
}

void yuv420_rows(RowKernel kernel, const WarpSpec& spec, const SourcePlane& luma,
                 const SourcePlane& chroma, const Matrix3f& matrix, uint8_t* out, uint32_t first,
                 uint32_t count) {
  const uint32_t half_width = spec.out_width / 2;
  const size_t plane_bytes = static_cast<size_t>(half_width) * (spec.out_height / 2);
  RowJob luma_job{matrix.m, 0.0f, 0.0f, 2.0f, half_width, nullptr, nullptr};
  RowJob chroma_job{chroma_transform(matrix).m, 0.0f, 0.0f, 1.0f, half_width, nullptr, nullptr};
  for (uint32_t row = first; row < first + count; ++row) {
    uint8_t* const row_out = out + static_cast<size_t>(row) * half_width;
    for (uint32_t phase = 0; phase < 4; ++phase) {
      luma_job.y = static_cast<float>(2 * row + phase % 2);
      luma_job.x_first = static_cast<float>(phase / 2);
      luma_job.first = row_out + phase * plane_bytes;
      kernel(luma, luma_job);
    }
    chroma_job.y = static_cast<float>(row);
    chroma_job.first = row_out + 4 * plane_bytes;
    chroma_job.second = row_out + 5 * plane_bytes;
    kernel(chroma, chroma_job);
  }
}

void rows_with(WarpKernel kernel, const WarpSpec& spec, const Nv12Layout& layout,
               const uint8_t* frame, const Matrix3f& matrix, uint8_t* out, uint32_t first,
               uint32_t count) {
  assert(layout.width == spec.width && layout.height == spec.height);
  assert(first <= spec.row_units() && count <= spec.row_units() - first);
  const RowKernel function = kernel_function(kernel, spec, layout);
  const SourcePlane luma = luma_plane(spec, layout, frame);
  if (spec.output == WarpOutput::kLuma) {
    luma_rows(function, spec, luma, matrix, out, first, count);
    return;
  }
  yuv420_rows(function, spec, luma, chroma_plane(spec, layout, frame), matrix, out, first, count);
}

Error size_error(std::string message, uint32_t want_width, uint32_t want_height, uint32_t width,
                 uint32_t height) {
  const auto text = [](uint32_t w, uint32_t h) {
    return std::to_string(w) + "x" + std::to_string(h);
  };
  return Error(ErrorCode::kInvalidArgument, std::move(message))
      .expecting(text(want_width, want_height), text(width, height));
}

}  // namespace

uint64_t WarpSpec::output_bytes() const {
  const uint64_t pixels = static_cast<uint64_t>(out_width) * out_height;
  return output == WarpOutput::kLuma ? pixels : pixels / 4 * 6;
}

uint32_t WarpSpec::row_units() const {
  return output == WarpOutput::kLuma ? out_height : out_height / 2;
}

Status WarpSpec::check() const {
  if (filter == WarpFilter::kBilinear && border_fill) {
    return Error(ErrorCode::kInvalidArgument, "border of a bilinear warp")
        .expecting("the edge", "fill " + std::to_string(*border_fill));
  }
  const uint32_t step = output == WarpOutput::kLuma ? 1 : 2;
  for (const uint32_t side : {out_width, out_height}) {
    if (side == 0 || side > kMaxNv12Side || side % step != 0) {
      return Error(ErrorCode::kInvalidArgument, "warp output width and height")
          .expecting((step == 1 ? "1 to " : "even, 2 to ") + std::to_string(kMaxNv12Side),
                     std::to_string(out_width) + "x" + std::to_string(out_height));
    }
  }
  return {};
}

Status check_warp(const WarpSpec& spec, const Nv12Layout& layout) {
  MODELD_TRY(spec.check());
  MODELD_TRY(layout.check());
  if (layout.width != spec.width || layout.height != spec.height) {
    return size_error("camera size does not match the warp", spec.width, spec.height, layout.width,
                      layout.height);
  }
  return {};
}

void warp_scalar(const WarpSpec& spec, const Nv12Layout& layout, const uint8_t* frame,
                 const Matrix3f& matrix, uint8_t* out) {
  warp_with(WarpKernel::kScalar, spec, layout, frame, matrix, out);
}

void warp(const WarpSpec& spec, const Nv12Layout& layout, const uint8_t* frame,
          const Matrix3f& matrix, uint8_t* out) {
  warp_rows(spec, layout, frame, matrix, out, 0, spec.row_units());
}

void warp_rows(const WarpSpec& spec, const Nv12Layout& layout, const uint8_t* frame,
               const Matrix3f& matrix, uint8_t* out, uint32_t first, uint32_t count) {
  rows_with(available_warp_kernels().back(), spec, layout, frame, matrix, out, first, count);
}

std::span<const WarpKernel> available_warp_kernels() {
  static const KernelList list = probe_kernels();
  return std::span(list.kernels).first(list.count);
}

std::string_view to_string(WarpKernel kernel) {
  switch (kernel) {
    case WarpKernel::kScalar:
      return "scalar";
    case WarpKernel::kAvx2:
      return "avx2";
    case WarpKernel::kAvx512:
      return "avx512";
  }
  return "unknown";
}

void warp_with(WarpKernel kernel, const WarpSpec& spec, const Nv12Layout& layout,
               const uint8_t* frame, const Matrix3f& matrix, uint8_t* out) {
  rows_with(kernel, spec, layout, frame, matrix, out, 0, spec.row_units());
}

}  // namespace modeld
