// Ops of one input, element by element.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/reference/functions.h"
#include "runtime/reference/kernel.h"
#include "runtime/reference/wide.h"

namespace modeld::reference {
namespace {

// out[i] = f(in[i]), computed in Wide.
template <typename Wide, typename Function>
KernelPointer elementwise(const KernelSpec& spec, Function function) {
  const DType dtype = spec.in(0).dtype;
  const auto count = static_cast<size_t>(spec.out().elements());
  return kernel_of([=](const KernelIo& io) {
    Wide row[kChunk];
    const size_t size = size_of(dtype);
    for (size_t at = 0; at < count; at += kChunk) {
      const size_t length = std::min(kChunk, count - at);
      load(dtype, io.inputs[0] + at * size, row, length);
      for (size_t i = 0; i < length; ++i) row[i] = function(row[i]);
      store(dtype, row, io.outputs[0] + at * size, length);
    }
  });
}

// A bound of Clip as a value of the integer type it applies to.
template <typename Wide>
Wide integer_bound(DType dtype, double bound) {
  std::byte bytes[8];
  store(dtype, &bound, bytes, 1);
  Wide value;
  load(dtype, bytes, &value, 1);
  return value;
}

template <typename Wide>
KernelPointer integer_clip(const KernelSpec& spec) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const DType dtype = spec.in(0).dtype;
  // A fraction bounds integers by the next one inside.
  const double min = std::ceil(spec.attributes.get_float("min", -kInfinity));
  const double max = std::floor(spec.attributes.get_float("max", kInfinity));
  const auto low = integer_bound<Wide>(dtype, min);
  const auto high = integer_bound<Wide>(dtype, max);
  return elementwise<Wide>(spec, [=](Wide x) { return std::min(std::max(x, low), high); });
}

template <typename Wide>
KernelPointer integer_unary(const KernelSpec& spec) {
  switch (spec.kind) {
    case OpKind::kClip:
      return integer_clip<Wide>(spec);
    case OpKind::kNot:
      return elementwise<Wide>(spec, [](Wide x) { return static_cast<Wide>(x == 0); });
    case OpKind::kNeg:
      return elementwise<Wide>(spec, [](Wide x) { return static_cast<Wide>(0 - uint64_t(x)); });
    case OpKind::kRelu:
      return elementwise<Wide>(spec, [](Wide x) { return std::max<Wide>(x, 0); });
    case OpKind::kSign:
      return elementwise<Wide>(spec, [](Wide x) {
        if (x == Wide{0}) return Wide{0};
        return x < Wide{0} ? static_cast<Wide>(-1) : Wide{1};
      });
    default:  // Abs; the least value of a type wraps to itself
      return elementwise<Wide>(
          spec, [](Wide x) { return x < Wide{0} ? static_cast<Wide>(0 - uint64_t(x)) : x; });
  }
}

}  // namespace

KernelPointer make_unary_kernel(const KernelSpec& spec) {
  switch (domain_of(spec.in(0).dtype)) {
    case Domain::kReal:
      return elementwise<double>(spec, unary_function(spec.kind, spec.attributes));
    case Domain::kSigned:
      return integer_unary<int64_t>(spec);
    default:
      return integer_unary<uint64_t>(spec);
  }
}

}  // namespace modeld::reference
