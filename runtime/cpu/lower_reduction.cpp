// Reductions of float32 over neighbouring axes (in storage order).
#include <cmath>
#include <optional>

#include "runtime/cpu/lowering.h"
#include "runtime/cpu/row_reduce.h"

namespace modeld::cpu {
namespace {

constexpr int64_t kWorthSharing = 32 * 1024;  // elements read

// outer x reduced x inner in storage order.
struct Reduction {
  int64_t outer = 1;
  int64_t reduced = 1;
  int64_t inner = 1;
};

std::vector<bool> reduced_axes(const Op& op, size_t rank) {
  std::vector<bool> reduced(rank, false);
  for (const int64_t axis : op.attributes.get_ints("axes"))
    reduced[static_cast<size_t>(axis)] = true;
  return reduced;
}

// Nothing if kept axes lie between reduced ones.
std::optional<Reduction> reduction_of(const Shape& shape, Layout layout,
                                      const std::vector<bool>& reduced) {
  Reduction r;
  int stage = 0;  // 0 in front of the reduced axes, 1 among them, 2 behind
  for (const size_t axis : storage_order(shape.size(), layout)) {
    if (shape[axis] == 1) continue;
    if (reduced[axis]) {
      if (stage == 2) return std::nullopt;
      stage = 1;
      r.reduced *= shape[axis];
    } else {
      if (stage == 1) stage = 2;
      (stage == 2 ? r.inner : r.outer) *= shape[axis];
    }
  }
  return r;
}

// Without `keepdims` the result is plain only if the kept axes are stored in ascending order.
bool keeps_order(const Shape& shape, Layout layout, const std::vector<bool>& reduced) {
  size_t previous = 0;
  for (const size_t axis : storage_order(shape.size(), layout)) {
    if (reduced[axis] || shape[axis] == 1) continue;
    if (axis < previous) return false;
    previous = axis;
  }
  return true;
}

template <typename Function, typename Combine, typename Finish>
struct Kernel {
  float start;
  Function function;
  Combine combine;
  Finish finish;

  void run(const Reduction& r, const float* in, float* out, const RunContext& context) const {
    if (r.inner == 1) {
      const Share rows = share_of(r.outer, context.part, context.parts);
      vectorised([&]() MODELD_ALWAYS_INLINE {
        for (int64_t row = rows.begin; row < rows.end; ++row) {
          out[row] = finish(reduce_row(in + row * r.reduced, r.reduced, start, function, combine));
        }
      });
      return;
    }
    constexpr int64_t kColumns = 64;
    const int64_t chunks = (r.inner + kColumns - 1) / kColumns;
    const Share share = share_of(r.outer * chunks, context.part, context.parts);
    vectorised([&]() MODELD_ALWAYS_INLINE {
      for (int64_t i = share.begin; i < share.end; ++i) {
        const int64_t column = i % chunks * kColumns;
        const int64_t rest = r.inner - column;
        columns(in + i / chunks * r.reduced * r.inner + column, r,
                out + i / chunks * r.inner + column, rest < kColumns ? rest : kColumns);
      }
    });
  }

  MODELD_ALWAYS_INLINE void columns(const float* in, const Reduction& r, float* out,
                                    int64_t count) const {
    float sums[64];
    for (int64_t i = 0; i < count; ++i) sums[i] = start;
    for (int64_t row = 0; row < r.reduced; ++row) {
      const float* line = in + row * r.inner;
      for (int64_t i = 0; i < count; ++i) sums[i] = combine(sums[i], function(line[i]));
    }
    for (int64_t i = 0; i < count; ++i) out[i] = finish(sums[i]);
  }
};

template <typename Function, typename Combine, typename Finish>
std::unique_ptr<Step> make_step(const Reduction& r, ValueId from, ValueId to, float start,
                                Function function, Combine combine, Finish finish) {
  const Kernel<Function, Combine, Finish> kernel{start, function, combine, finish};
  return step_of([=](const RunContext& context) {
    kernel.run(r, context.at<float>(from), context.at<float>(to), context);
  });
}

std::unique_ptr<Step> make_reduction(OpKind kind, const Reduction& r, ValueId from, ValueId to) {
  const auto absolute = [](float x) MODELD_ALWAYS_INLINE { return std::fabs(x); };
  const auto square = [](float x) MODELD_ALWAYS_INLINE { return x * x; };
  const auto root = [](float x) MODELD_ALWAYS_INLINE { return std::sqrt(x); };
  const auto divide = [count = static_cast<float>(r.reduced)](float x)
                          MODELD_ALWAYS_INLINE { return x / count; };
  switch (kind) {
    case OpKind::kReduceL1:
      return make_step(r, from, to, 0.0f, absolute, Sum{}, Same{});
    case OpKind::kReduceL2:
      return make_step(r, from, to, 0.0f, square, Sum{}, root);
    case OpKind::kReduceMax:
      return make_step(r, from, to, -math::kInfinity, Same{}, Larger{}, Same{});
    case OpKind::kReduceMin:
      return make_step(r, from, to, math::kInfinity, Same{}, Smaller{}, Same{});
    case OpKind::kReduceMean:
      return make_step(r, from, to, 0.0f, Same{}, Sum{}, divide);
    case OpKind::kReduceSum:
      return make_step(r, from, to, 0.0f, Same{}, Sum{}, Same{});
    case OpKind::kReduceSumSquare:
      return make_step(r, from, to, 0.0f, square, Sum{}, Same{});
    default:
      return nullptr;
  }
}

}  // namespace

Result<bool> lower_reduction(Lowering& lowering) {
  const Op& op = lowering.op();
  if (op.kind < OpKind::kReduceL1 || op.kind > OpKind::kReduceSumSquare) return false;
  if (make_reduction(op.kind, {}, 0, 0) == nullptr) return false;
  const TensorId in = op.inputs[0];
  const Shape& shape = lowering.shape(in);
  if (lowering.stored(in) != DType::kFloat32 || lowering.type(in).elements() == 0) return false;
  const std::vector<bool> reduced = reduced_axes(op, shape.size());
  const bool keepdims = op.attributes.get_int("keepdims") != 0;
  Layout layout = lowering.layout(in);
  if (!keepdims && !keeps_order(shape, layout, reduced)) layout = Layout::kPlain;
  auto reduction = reduction_of(shape, layout, reduced);
  if (!reduction && layout == Layout::kChannelsLast) {
    layout = Layout::kPlain;
    reduction = reduction_of(shape, layout, reduced);
  }
  if (!reduction) return false;
  const ValueId from = lowering.value(in, layout);
  const ValueId to = lowering.define(op.outputs[0], keepdims ? layout : Layout::kPlain);
  Lowering::StepOptions options;
  options.parallel = lowering.type(in).elements() >= kWorthSharing;
  lowering.add(make_reduction(op.kind, *reduction, from, to), "own: reduction", {from}, {to},
               std::move(options));
  return true;
}

}  // namespace modeld::cpu
