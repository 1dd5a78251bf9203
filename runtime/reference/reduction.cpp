// Reduce*, CumSum and ArgMax, ArgMin.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "runtime/reference/functions.h"
#include "runtime/reference/kernel.h"
#include "runtime/reference/strided_loop.h"
#include "runtime/reference/wide.h"

namespace modeld::reference {
namespace {

using ReduceLoop = StridedLoop<2>;  // out, in

// Walks the input in order; the output's stride is 0 along reduced axes.
ReduceLoop loop_of(const KernelSpec& spec) {
  const Shape& in = spec.in(0).shape;
  Shape kept = in;
  for (const int64_t axis : spec.attributes.get_ints("axes")) kept[static_cast<size_t>(axis)] = 1;
  return {in, {broadcast_strides(kept, in), dense_strides(in)}};
}

// total = combine(total, x) over the reduced elements, from `start`; then finish(total).
template <typename Wide, typename Combine, typename Finish>
KernelPointer reduction(const KernelSpec& spec, Wide start, Combine combine, Finish finish) {
  const DType in = spec.in(0).dtype;
  const DType out = spec.out().dtype;
  std::vector<Wide> totals(static_cast<size_t>(spec.out().elements()));
  return kernel_of([=, loop = loop_of(spec)](const KernelIo& io) mutable {
    std::fill(totals.begin(), totals.end(), start);
    const auto length = static_cast<size_t>(loop.row_length());
    const bool along_row = loop.row_strides()[0] == 0;
    loop.for_each_row([&](const ReduceLoop::Offsets& at) {
      Wide row[kChunk];
      for (size_t done = 0; done < length; done += kChunk) {
        const size_t count = std::min(kChunk, length - done);
        const size_t from = static_cast<size_t>(at[1]) + done;
        load(in, io.inputs[0] + from * size_of(in), row, count);
        Wide* total = totals.data() + at[0] + (along_row ? 0 : static_cast<int64_t>(done));
        for (size_t i = 0; i < count; ++i) {
          Wide& to = total[along_row ? 0 : i];
          to = combine(to, row[i]);
        }
      }
    });
    for (Wide& total : totals) total = finish(total, io.flags);
    store(out, totals.data(), io.outputs[0], totals.size());
  });
}

// Elements that go into one result.
int64_t reduced_count(const KernelSpec& spec) {
  int64_t count = 1;
  for (const int64_t axis : spec.attributes.get_ints("axes")) {
    count *= spec.in(0).shape[static_cast<size_t>(axis)];
  }
  return count;
}

template <typename Wide>
Wide multiply(Wide a, Wide b) {
  if constexpr (std::is_same_v<Wide, double>) return a * b;
  return static_cast<Wide>(uint64_t(a) * uint64_t(b));
}

template <typename Wide>
Wide add(Wide a, Wide b) {
  if constexpr (std::is_same_v<Wide, double>) return a + b;
  return static_cast<Wide>(uint64_t(a) + uint64_t(b));
}

template <typename Wide>
Wide magnitude(Wide x) {
  if constexpr (std::is_same_v<Wide, double>) return std::fabs(x);
  return x < Wide{0} ? static_cast<Wide>(0 - uint64_t(x)) : x;
}

template <typename Wide>
KernelPointer mean(const KernelSpec& spec) {
  const int64_t count = reduced_count(spec);
  return reduction<Wide>(spec, Wide{0}, add<Wide>, [count](Wide total, Flags& flags) -> Wide {
    if constexpr (!std::is_same_v<Wide, double>) {
      if (count == 0) {
        ++flags.integer_division_by_zero;
        return 0;
      }
    }
    return total / static_cast<Wide>(count);
  });
}

// The values Max and Min of nothing have: the identity of the reduction in the element's type.
template <typename Wide>
Wide extreme(DType dtype, bool largest) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double value = largest ? kInfinity : -kInfinity;
  if constexpr (std::is_same_v<Wide, double>) return value;
  std::byte bytes[8];
  store(dtype, &value, bytes, 1);
  Wide limit;
  load(dtype, bytes, &limit, 1);
  return limit;
}

template <typename Wide>
Wide pick(Wide a, Wide b, bool largest) {
  if constexpr (std::is_same_v<Wide, double>) return largest ? larger(a, b) : smaller(a, b);
  return largest ? std::max(a, b) : std::min(a, b);
}

// log(sum(exp(x))) with the largest element taken out of the sum, so that it neither overflows nor
// loses everything.
KernelPointer log_sum_exp(const KernelSpec& spec) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const DType in = spec.in(0).dtype;
  const DType out = spec.out().dtype;
  const auto count = static_cast<size_t>(spec.out().elements());
  std::vector<double> most(count);
  std::vector<double> sums(count);
  return kernel_of([=, loop = loop_of(spec)](const KernelIo& io) mutable {
    const auto for_each = [&](auto visit) {
      loop.for_each_row([&](const ReduceLoop::Offsets& at) {
        for (int64_t i = 0; i < loop.row_length(); ++i) {
          double x;
          load(in, io.inputs[0] + static_cast<size_t>(at[1] + i) * size_of(in), &x, 1);
          visit(static_cast<size_t>(at[0] + i * loop.row_strides()[0]), x);
        }
      });
    };
    std::fill(most.begin(), most.end(), -kInfinity);
    std::fill(sums.begin(), sums.end(), 0.0);
    for_each([&](size_t to, double x) { most[to] = larger(most[to], x); });
    for_each([&](size_t to, double x) {
      sums[to] += std::exp(std::isinf(most[to]) ? x : x - most[to]);
    });
    for (size_t i = 0; i < count; ++i) {
      sums[i] = std::log(sums[i]) + (std::isinf(most[i]) ? 0.0 : most[i]);
    }
    store(out, sums.data(), io.outputs[0], count);
  });
}

template <typename Wide>
KernelPointer cumulative_sum(const KernelSpec& spec) {
  const Shape& shape = spec.in(0).shape;
  const auto axis = static_cast<size_t>(spec.attributes.get_int("axis"));
  const auto inner = static_cast<size_t>(dense_strides(shape)[axis]);
  const auto count = static_cast<size_t>(shape[axis]);
  const bool exclusive = spec.attributes.get_int("exclusive") != 0;
  const bool reverse = spec.attributes.get_int("reverse") != 0;
  const DType dtype = spec.in(0).dtype;
  const size_t lines = count == 0 ? 0 : static_cast<size_t>(spec.in(0).elements()) / count;
  return kernel_of([=](const KernelIo& io) {
    for (size_t line = 0; line < lines; ++line) {
      const size_t start = line / inner * inner * count + line % inner;
      Wide total{0};
      for (size_t i = 0; i < count; ++i) {
        const size_t at = start + (reverse ? count - 1 - i : i) * inner;
        Wide x;
        load(dtype, io.inputs[0] + at * size_of(dtype), &x, 1);
        const Wide next = add(total, x);
        store(dtype, exclusive ? &total : &next, io.outputs[0] + at * size_of(dtype), 1);
        total = next;
      }
    }
  });
}

template <typename Wide>
KernelPointer reduce_in(const KernelSpec& spec) {
  const auto as_is = [](Wide total, Flags&) { return total; };
  const auto add_square = [](Wide total, Wide x) { return add(total, multiply(x, x)); };
  switch (spec.kind) {
    case OpKind::kReduceL1:
      return reduction<Wide>(
          spec, Wide{0}, [](Wide total, Wide x) { return add(total, magnitude(x)); }, as_is);
    case OpKind::kReduceL2:
      return reduction<Wide>(spec, Wide{0}, add_square, [](Wide total, Flags&) {
        // A sum of squares that wrapped below zero: its root is no number, which as an integer is
        // 0.
        if constexpr (std::is_same_v<Wide, int64_t>) {
          if (total < 0) return Wide{0};
        }
        return static_cast<Wide>(std::sqrt(static_cast<double>(total)));
      });
    case OpKind::kReduceMax:
    case OpKind::kReduceMin: {
      const bool largest = spec.kind == OpKind::kReduceMax;
      return reduction<Wide>(
          spec, extreme<Wide>(spec.in(0).dtype, !largest),
          [largest](Wide a, Wide b) { return pick(a, b, largest); }, as_is);
    }
    case OpKind::kReduceMean:
      return mean<Wide>(spec);
    case OpKind::kReduceProd:
      return reduction<Wide>(spec, Wide{1}, multiply<Wide>, as_is);
    case OpKind::kReduceSumSquare:
      return reduction<Wide>(spec, Wide{0}, add_square, as_is);
    default:
      return reduction<Wide>(spec, Wide{0}, add<Wide>, as_is);
  }
}

// True if `x` at a later index replaces `best`. A NaN is chosen over every number, as in NumPy.
template <typename Wide>
bool replaces(Wide x, Wide best, bool largest, bool last) {
  if constexpr (std::is_same_v<Wide, double>) {
    if (std::isnan(best)) return last && std::isnan(x);
    if (std::isnan(x)) return true;
  }
  if (x == best) return last;
  return largest ? x > best : x < best;
}

template <typename Wide>
KernelPointer arg_in(const KernelSpec& spec) {
  const Shape& shape = spec.in(0).shape;
  const auto axis = static_cast<size_t>(spec.attributes.get_int("axis"));
  const bool largest = spec.kind == OpKind::kArgMax;
  const bool last = spec.attributes.get_int("select_last_index") != 0;
  const auto strides = dense_strides(shape);
  const auto inner = static_cast<size_t>(strides[axis]);
  const auto count = static_cast<size_t>(shape[axis]);
  const DType dtype = spec.in(0).dtype;
  const auto results = static_cast<size_t>(spec.out().elements());
  return kernel_of([=](const KernelIo& io) {
    const auto value = [&](size_t element) {
      Wide x;
      load(dtype, io.inputs[0] + element * size_of(dtype), &x, 1);
      return x;
    };
    for (size_t result = 0; result < results; ++result) {
      const size_t start = result / inner * inner * count + result % inner;
      int64_t chosen = 0;
      Wide best = value(start);
      for (size_t k = 1; k < count; ++k) {
        const Wide x = value(start + k * inner);
        if (!replaces(x, best, largest, last)) continue;
        best = x;
        chosen = static_cast<int64_t>(k);
      }
      store(DType::kInt64, &chosen, io.outputs[0] + result * sizeof(int64_t), 1);
    }
  });
}

}  // namespace

KernelPointer make_cumulative_sum_kernel(const KernelSpec& spec) {
  switch (domain_of(spec.in(0).dtype)) {
    case Domain::kReal:
      return cumulative_sum<double>(spec);
    case Domain::kSigned:
      return cumulative_sum<int64_t>(spec);
    default:
      return cumulative_sum<uint64_t>(spec);
  }
}

KernelPointer make_reduction_kernel(const KernelSpec& spec) {
  if (spec.kind == OpKind::kReduceLogSumExp) return log_sum_exp(spec);
  switch (domain_of(spec.in(0).dtype)) {
    case Domain::kReal:
      return reduce_in<double>(spec);
    case Domain::kSigned:
      return reduce_in<int64_t>(spec);
    default:
      return reduce_in<uint64_t>(spec);
  }
}

KernelPointer make_arg_kernel(const KernelSpec& spec) {
  switch (domain_of(spec.in(0).dtype)) {
    case Domain::kReal:
      return arg_in<double>(spec);
    case Domain::kSigned:
      return arg_in<int64_t>(spec);
    default:
      return arg_in<uint64_t>(spec);
  }
}

}  // namespace modeld::reference
