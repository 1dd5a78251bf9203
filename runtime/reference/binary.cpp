// Ops of two or more broadcast inputs.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/reference/functions.h"
#include "runtime/reference/kernel.h"
#include "runtime/reference/strided_loop.h"
#include "runtime/reference/wide.h"

namespace modeld::reference {
namespace {

using PairLoop = StridedLoop<3>;  // out, a, b

// Up to kChunk elements of a row whose stride is 1 or 0 (merged broadcast axes have no other).
template <typename Wide>
void load_row(DType dtype, const std::byte* base, int64_t offset, int64_t stride, Wide* row,
              size_t length) {
  const std::byte* from = base + static_cast<size_t>(offset) * size_of(dtype);
  load(dtype, from, row, stride == 0 ? 1 : length);
  if (stride == 0) std::fill(row + 1, row + length, row[0]);
}

// What a kernel needs to walk two broadcast operands.
struct Pair {
  DType a;
  DType b;
  DType out;
  PairLoop loop;

  Pair(const TensorType& left, const TensorType& right, const TensorType& result)
      : a(left.dtype),
        b(right.dtype),
        out(result.dtype),
        loop(result.shape,
             {dense_strides(result.shape), broadcast_strides(left.shape, result.shape),
              broadcast_strides(right.shape, result.shape)}) {}

  // out = f(a, b) with A, B and Out computed in their own wide types. `out` may be `a`.
  template <typename A, typename B, typename Function>
  void run(const std::byte* left, const std::byte* right, std::byte* result, Function function) {
    using Out = decltype(function(A{}, B{}));
    const auto length = static_cast<size_t>(loop.row_length());
    const auto& stride = loop.row_strides();
    loop.for_each_row([&](const PairLoop::Offsets& at) {
      A row_a[kChunk];
      B row_b[kChunk];
      Out row_out[kChunk];
      for (size_t done = 0; done < length; done += kChunk) {
        const size_t count = std::min(kChunk, length - done);
        const auto from = static_cast<int64_t>(done);
        load_row(a, left, at[1] + from * stride[1], stride[1], row_a, count);
        load_row(b, right, at[2] + from * stride[2], stride[2], row_b, count);
        for (size_t i = 0; i < count; ++i) row_out[i] = function(row_a[i], row_b[i]);
        store(out, row_out, result + static_cast<size_t>(at[0] + from) * size_of(out), count);
      }
    });
  }
};

// A kernel of exactly two inputs; function(a, b, flags).
template <typename A, typename B, typename Function>
KernelPointer pairwise(const KernelSpec& spec, Function function) {
  return kernel_of(
      [pair = Pair(spec.in(0), spec.in(1), spec.out()), function](const KernelIo& io) mutable {
        pair.run<A, B>(io.inputs[0], io.inputs[1], io.outputs[0],
                       [&](A a, B b) { return function(a, b, io.flags); });
      });
}

// Max and Min of any number of inputs: the first, then each further one folded into the output.
template <typename Wide, typename Choose>
KernelPointer folded(const KernelSpec& spec, Choose choose) {
  std::vector<Pair> steps;
  steps.emplace_back(spec.in(0), spec.in(0), spec.out());
  for (size_t i = 1; i < spec.inputs.size(); ++i) {
    steps.emplace_back(spec.out(), spec.in(i), spec.out());
  }
  return kernel_of([steps = std::move(steps), choose](const KernelIo& io) mutable {
    std::byte* out = io.outputs[0];
    steps[0].run<Wide, Wide>(io.inputs[0], io.inputs[0], out, [](Wide a, Wide) { return a; });
    for (size_t i = 1; i < steps.size(); ++i) {
      steps[i].run<Wide, Wide>(out, io.inputs[i], out, choose);
    }
  });
}

template <typename Wide>
Wide divide(Wide a, Wide b, Flags& flags) {
  if (b == 0) {
    ++flags.integer_division_by_zero;
    return 0;
  }
  // The least signed value by -1 wraps to itself.
  if (std::is_signed_v<Wide> && b == static_cast<Wide>(-1))
    return static_cast<Wide>(0 - uint64_t(a));
  return a / b;
}

// `floored`: the sign of the divisor (ONNX Mod, fmod 0); else of the dividend (C).
template <typename Wide>
Wide remainder(Wide a, Wide b, bool floored, Flags& flags) {
  if (b == 0) {
    ++flags.integer_division_by_zero;
    return 0;
  }
  if (std::is_signed_v<Wide> && b == static_cast<Wide>(-1)) return 0;
  const Wide rest = a % b;
  const bool opposite = rest != 0 && (rest < 0) != (b < 0);
  return floored && opposite ? rest + b : rest;
}

// Wraps modulo 2^64. A negative exponent gives 1 / a^-b, truncated.
template <typename Wide, typename Exponent>
Wide integer_power(Wide a, Exponent b, Flags& flags) {
  if (std::is_signed_v<Exponent> && b < 0) {
    if (a == 0) ++flags.integer_division_by_zero;
    if (a == 1) return 1;
    if (std::is_signed_v<Wide> && a == static_cast<Wide>(-1)) return b % 2 == 0 ? 1 : a;
    return 0;
  }
  uint64_t result = 1;
  auto base = static_cast<uint64_t>(a);
  for (auto rest = static_cast<uint64_t>(b); rest != 0; rest >>= 1) {
    if ((rest & 1) != 0) result *= base;
    base *= base;
  }
  return static_cast<Wide>(result);
}

template <typename Wide>
KernelPointer comparison(const KernelSpec& spec) {
  const auto compare = [&](auto holds) {
    return pairwise<Wide, Wide>(spec, [holds](Wide a, Wide b, Flags&) {
      return static_cast<uint64_t>(holds(a, b) ? 1 : 0);
    });
  };
  switch (spec.kind) {
    case OpKind::kGreater:
      return compare([](Wide a, Wide b) { return a > b; });
    case OpKind::kGreaterOrEqual:
      return compare([](Wide a, Wide b) { return a >= b; });
    case OpKind::kLess:
      return compare([](Wide a, Wide b) { return a < b; });
    case OpKind::kLessOrEqual:
      return compare([](Wide a, Wide b) { return a <= b; });
    default:
      return compare([](Wide a, Wide b) { return a == b; });
  }
}

template <typename Wide>
KernelPointer integer_arithmetic(const KernelSpec& spec) {
  const auto wrapping = [&](auto operation) {
    return pairwise<Wide, Wide>(spec, [operation](Wide a, Wide b, Flags&) {
      return static_cast<Wide>(operation(uint64_t(a), uint64_t(b)));
    });
  };
  switch (spec.kind) {
    case OpKind::kAdd:
      return wrapping([](uint64_t a, uint64_t b) { return a + b; });
    case OpKind::kSub:
      return wrapping([](uint64_t a, uint64_t b) { return a - b; });
    case OpKind::kMul:
      return wrapping([](uint64_t a, uint64_t b) { return a * b; });
    case OpKind::kAnd:
      return wrapping([](uint64_t a, uint64_t b) { return a & b; });
    case OpKind::kOr:
      return wrapping([](uint64_t a, uint64_t b) { return a | b; });
    case OpKind::kMax:
      return folded<Wide>(spec, [](Wide a, Wide b) { return std::max(a, b); });
    case OpKind::kMin:
      return folded<Wide>(spec, [](Wide a, Wide b) { return std::min(a, b); });
    case OpKind::kMod: {
      const bool floored = spec.attributes.get_int("fmod") == 0;
      return pairwise<Wide, Wide>(
          spec, [=](Wide a, Wide b, Flags& flags) { return remainder(a, b, floored, flags); });
    }
    case OpKind::kPRelu:
      return pairwise<Wide, Wide>(spec, [](Wide x, Wide slope, Flags&) {
        return x < Wide{0} ? static_cast<Wide>(uint64_t(x) * uint64_t(slope)) : x;
      });
    default:
      return pairwise<Wide, Wide>(spec,
                                  [](Wide a, Wide b, Flags& flags) { return divide(a, b, flags); });
  }
}

KernelPointer real_arithmetic(const KernelSpec& spec) {
  const auto plain = [&](auto operation) {
    return pairwise<double, double>(
        spec, [operation](double a, double b, Flags&) { return operation(a, b); });
  };
  switch (spec.kind) {
    case OpKind::kAdd:
      return plain([](double a, double b) { return a + b; });
    case OpKind::kSub:
      return plain([](double a, double b) { return a - b; });
    case OpKind::kMul:
      return plain([](double a, double b) { return a * b; });
    case OpKind::kDiv:
      return plain([](double a, double b) { return a / b; });
    case OpKind::kMax:
      return folded<double>(spec, larger);
    case OpKind::kMin:
      return folded<double>(spec, smaller);
    case OpKind::kMod:
      return plain([](double a, double b) { return std::fmod(a, b); });
    default:
      return plain([](double x, double slope) { return x < 0 ? slope * x : x; });
  }
}

// The exponent's type is its own; a real exponent of an integer is computed in double.
template <typename Wide>
KernelPointer power_of_integer(const KernelSpec& spec) {
  switch (domain_of(spec.in(1).dtype)) {
    case Domain::kSigned:
      return pairwise<Wide, int64_t>(
          spec, [](Wide a, int64_t b, Flags& flags) { return integer_power(a, b, flags); });
    case Domain::kUnsigned:
      return pairwise<Wide, uint64_t>(
          spec, [](Wide a, uint64_t b, Flags& flags) { return integer_power(a, b, flags); });
    default:
      return pairwise<double, double>(spec,
                                      [](double a, double b, Flags&) { return std::pow(a, b); });
  }
}

template <typename Wide>
KernelPointer integer_binary(const KernelSpec& spec) {
  if (spec.kind == OpKind::kPow) return power_of_integer<Wide>(spec);
  if (spec.out().dtype == DType::kBool && spec.kind != OpKind::kAnd && spec.kind != OpKind::kOr) {
    return comparison<Wide>(spec);
  }
  return integer_arithmetic<Wide>(spec);
}

KernelPointer real_binary(const KernelSpec& spec) {
  if (spec.out().dtype == DType::kBool) return comparison<double>(spec);
  if (spec.kind != OpKind::kPow) return real_arithmetic(spec);
  return pairwise<double, double>(spec, [](double a, double b, Flags&) { return std::pow(a, b); });
}

template <typename Element>
void choose_row(const std::byte* condition, const std::byte* a, const std::byte* b, std::byte* out,
                size_t length, const StridedLoop<4>::Offsets& stride) {
  const auto size = static_cast<int64_t>(sizeof(Element));
  for (size_t i = 0; i < length; ++i) {
    const auto at = static_cast<int64_t>(i);
    const bool yes = condition[at * stride[1]] != std::byte{0};
    const std::byte* from = yes ? a + at * stride[2] * size : b + at * stride[3] * size;
    std::copy_n(from, size, out + at * size);
  }
}

}  // namespace

KernelPointer make_binary_kernel(const KernelSpec& spec) {
  switch (domain_of(spec.in(0).dtype)) {
    case Domain::kReal:
      return real_binary(spec);
    case Domain::kSigned:
      return integer_binary<int64_t>(spec);
    default:
      return integer_binary<uint64_t>(spec);
  }
}

KernelPointer make_where_kernel(const KernelSpec& spec) {
  const Shape& shape = spec.out().shape;
  StridedLoop<4> loop(shape, {dense_strides(shape), broadcast_strides(spec.in(0).shape, shape),
                              broadcast_strides(spec.in(1).shape, shape),
                              broadcast_strides(spec.in(2).shape, shape)});
  const auto size = static_cast<int64_t>(size_of(spec.out().dtype));
  return kernel_of([loop, size](const KernelIo& io) mutable {
    const auto length = static_cast<size_t>(loop.row_length());
    loop.for_each_row([&](const StridedLoop<4>::Offsets& at) {
      const std::byte* condition = io.inputs[0] + at[1];
      const std::byte* a = io.inputs[1] + at[2] * size;
      const std::byte* b = io.inputs[2] + at[3] * size;
      std::byte* out = io.outputs[0] + at[0] * size;
      if (size == 1) choose_row<uint8_t>(condition, a, b, out, length, loop.row_strides());
      if (size == 2) choose_row<uint16_t>(condition, a, b, out, length, loop.row_strides());
      if (size == 4) choose_row<uint32_t>(condition, a, b, out, length, loop.row_strides());
      if (size == 8) choose_row<uint64_t>(condition, a, b, out, length, loop.row_strides());
    });
  });
}

}  // namespace modeld::reference
