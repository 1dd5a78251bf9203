#include "tests/differential/random_values.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/base/half.h"

namespace modeld::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Largest finite number and least positive one of a float type.
struct Ends {
  double largest;
  double least;
};

Ends ends_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return {65504.0, 0x1p-24};
    case DType::kBFloat16:
      return {0x1.fep127, 0x1p-133};
    case DType::kFloat32:
      return {static_cast<double>(std::numeric_limits<float>::max()),
              static_cast<double>(std::numeric_limits<float>::denorm_min())};
    default:
      return {std::numeric_limits<double>::max(), std::numeric_limits<double>::denorm_min()};
  }
}

double special(Random& random) {
  return random.pick({kNan, kInfinity, -kInfinity, -0.0, 0.0});
}

double extreme(Random& random, DType dtype) {
  if (random.chance(0.5)) return special(random);
  const Ends ends = ends_of(dtype);
  const double size = random.pick(
      {ends.largest, ends.least, 3 * ends.least, ends.largest / 3, std::sqrt(ends.largest)});
  return random.chance(0.5) ? size : -size;
}

double float_value(Random& random, DType dtype, Values values) {
  switch (values) {
    case Values::kWide:
      return std::ldexp(random.normal(), static_cast<int>(random.between(-12, 8)));
    case Values::kExtreme:
      return random.chance(0.2) ? extreme(random, dtype) : random.normal();
    case Values::kHuge: {
      const double value = random.chance(0.2) ? extreme(random, dtype) : random.normal();
      return std::abs(value) < 1e-3 ? std::copysign(0.0, value) : value;
    }
    case Values::kSpecial:
      return random.chance(0.1) ? special(random) : random.normal();
    case Values::kPositive:
      return random.uniform(0.05, 4);
    case Values::kNonZero:
      return random.uniform(0.5, 3) * (random.chance(0.5) ? 1 : -1);
    case Values::kUnit:
      return random.uniform(-1, 1);
    default:
      return random.normal();
  }
}

bool is_unsigned(DType dtype) {
  return dtype == DType::kUInt8 || dtype == DType::kUInt16 || dtype == DType::kUInt32 ||
         dtype == DType::kUInt64;
}

int64_t integer_value(Random& random, DType dtype, Values values, int64_t extent) {
  switch (values) {
    case Values::kWide:
    case Values::kExtreme:
      return static_cast<int64_t>(random.bits());
    case Values::kPositive:
      return random.between(1, 9);
    case Values::kNonZero:
      return random.between(1, 9) * (is_unsigned(dtype) || random.chance(0.5) ? 1 : -1);
    case Values::kIndex:
      return random.between(-extent, extent - 1);
    case Values::kStrayIndex:
      return random.between(-extent - 2, extent + 1);
    default:
      return is_unsigned(dtype) ? random.between(0, 16) : random.between(-8, 8);
  }
}

template <typename T>
void put(std::vector<std::byte>& bytes, T value) {
  const size_t at = bytes.size();
  bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

}  // namespace

std::vector<std::byte> random_bytes(Random& random, const TensorType& type, Values values,
                                    int64_t extent) {
  std::vector<std::byte> bytes;
  bytes.reserve(type.bytes());
  for (int64_t i = 0; i < type.elements(); ++i) {
    if (type.dtype == DType::kBool) {
      put(bytes, static_cast<uint8_t>(random.bits() >> 63));
    } else if (!is_float(type.dtype)) {
      // The low bytes of a two's complement number are the number wrapped to their width.
      const int64_t value = integer_value(random, type.dtype, values, extent);
      const size_t at = bytes.size();
      bytes.resize(at + size_of(type.dtype));
      std::memcpy(bytes.data() + at, &value, size_of(type.dtype));
    } else {
      const double value = float_value(random, type.dtype, values);
      if (type.dtype == DType::kFloat64) {
        put(bytes, value);
      } else if (type.dtype == DType::kFloat32) {
        put(bytes, static_cast<float>(value));
      } else {
        const auto single = static_cast<float>(value);
        put(bytes, type.dtype == DType::kFloat16 ? float_to_half(single) : float_to_bfloat(single));
      }
    }
  }
  return bytes;
}

}  // namespace modeld::test
