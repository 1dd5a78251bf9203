#include "warp/transform.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace modeld {
namespace {

// |det| over the product of the row lengths, with columns scaled to the output's extent. A
// calibrated camera gives 0.1 to 1; float32 entries of a singular matrix leave about 1e-7.
constexpr double kLeastRatio = 1e-6;

Error refused(std::string message, std::string expected, std::string found) {
  return Error(ErrorCode::kInvalidArgument, "transform " + std::move(message))
      .expecting(std::move(expected), std::move(found));
}

double invertibility(const Matrix3f& matrix, double width, double height) {
  std::array<double, 9> s;
  double lengths = 1.0;
  for (size_t row = 0; row < 3; ++row) {
    s[3 * row] = matrix(row, 0) * width;
    s[3 * row + 1] = matrix(row, 1) * height;
    s[3 * row + 2] = matrix(row, 2);
    lengths *= std::hypot(s[3 * row], s[3 * row + 1], s[3 * row + 2]);
  }
  const double det = s[0] * (s[4] * s[8] - s[5] * s[7]) - s[1] * (s[3] * s[8] - s[5] * s[6]) +
                     s[2] * (s[3] * s[7] - s[4] * s[6]);
  return lengths > 0.0 ? std::abs(det) / lengths : 0.0;
}

// In float32 and in the order the sampler uses, so that both see the same sign.
float denominator(const Matrix3f& m, float x, float y) {
  return (m(2, 0) * x + m(2, 1) * y) + m(2, 2);
}

}  // namespace

Status check_transform(const Matrix3f& matrix, uint32_t out_width, uint32_t out_height) {
  for (size_t i = 0; i < matrix.m.size(); ++i) {
    if (!std::isfinite(matrix.m[i])) {
      return refused("is not finite", "nine finite entries",
                     std::to_string(matrix.m[i]) + " at row " + std::to_string(i / 3) +
                         ", column " + std::to_string(i % 3));
    }
  }
  const double ratio = invertibility(matrix, out_width, out_height);
  if (!(ratio >= kLeastRatio)) {
    return refused("is not invertible", "a determinant ratio of at least 1e-6",
                   std::to_string(ratio));
  }
  // Affine in x and y: its extremes over the grid are at the corners.
  const float right = static_cast<float>(out_width) - 1.0f;
  const float bottom = static_cast<float>(out_height) - 1.0f;
  const auto [least, most] =
      std::minmax({denominator(matrix, 0, 0), denominator(matrix, right, 0),
                   denominator(matrix, 0, bottom), denominator(matrix, right, bottom)});
  if (!std::isfinite(least) || !std::isfinite(most) || !(least > 0.0f || most < 0.0f)) {
    return refused("denominator changes sign or is zero inside the output",
                   "one sign over " + std::to_string(out_width) + "x" + std::to_string(out_height),
                   std::to_string(least) + " to " + std::to_string(most));
  }
  return {};
}

Matrix3f chroma_transform(const Matrix3f& luma) {
  constexpr std::array<float, 9> kFactors{1.0f, 1.0f, 0.5f, 1.0f, 1.0f, 0.5f, 2.0f, 2.0f, 1.0f};
  Matrix3f chroma;
  for (size_t i = 0; i < kFactors.size(); ++i) chroma.m[i] = luma.m[i] * kFactors[i];
  return chroma;
}

}  // namespace modeld
