// The 3x3 matrix of a warp, and the rule a matrix must pass before it may reach a kernel.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/base/result.h"

namespace modeld {

// Row-major. Maps a homogeneous pixel (x, y, 1) of the warp's output to a pixel of the camera.
struct Matrix3f {
  std::array<float, 9> m{};

  float operator()(size_t row, size_t column) const { return m[3 * row + column]; }
  bool operator==(const Matrix3f&) const = default;
};

// kInvalidArgument unless every entry is finite, the matrix is invertible, and the denominator
// m20 x + m21 y + m22 has one sign (never zero) over the out_width x out_height output pixels.
// The message starts with "transform is not finite", "... not invertible" or "... denominator".
Status check_transform(const Matrix3f& matrix, uint32_t out_width, uint32_t out_height);

// The matrix for the half-resolution chroma planes: S M S^-1 with S = diag(1/2, 1/2, 1), exact in
// float32 (facts 6.6).
Matrix3f chroma_transform(const Matrix3f& luma);

}  // namespace modeld
