// Contents of tensors: plain numbers and the ones that break kernels.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/program/tensor.h"
#include "tests/differential/random.h"

namespace modeld::test {

enum class Values : uint8_t {
  kPlain,       // floats N(0,1); integers -8..8 (0..16 if unsigned)
  kWide,        // floats over many magnitudes; integers over all their bits
  kExtreme,     // kPlain mixed with NaN, infinities, -0.0, subnormals and the largest numbers
  kHuge,        // kExtreme without subnormals, which products may take as zero (runtime/cpu)
  kSpecial,     // kPlain mixed with NaN, infinities and -0.0
  kPositive,    // floats and integers above 0
  kNonZero,     // integers other than 0
  kUnit,        // floats in [-1, 1]
  kIndex,       // integers in [-extent, extent), see `extent`
  kStrayIndex,  // the same and beyond
};

// `extent` is read by the index kinds only.
std::vector<std::byte> random_bytes(Random& random, const TensorType& type, Values values,
                                    int64_t extent = 0);

}  // namespace modeld::test
