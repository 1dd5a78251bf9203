// ConvInteger and MatMulInteger with constant right sides: by oneDNN where its sums are exact, else
// operands minus their zero points as int16 and sums in int32. Exact, whatever the instruction set.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "runtime/cpu/convolution.h"
#include "runtime/cpu/integer_product.h"
#include "runtime/cpu/lowering.h"

namespace modeld::cpu {
namespace {

constexpr int64_t kSharedWork = 100'000;  // multiply-adds

int32_t integer_at(DType dtype, const std::byte* from, int64_t index) {
  return dtype == DType::kInt8
             ? static_cast<int32_t>(reinterpret_cast<const int8_t*>(from)[index])
             : static_cast<int32_t>(reinterpret_cast<const uint8_t*>(from)[index]);
}

bool given(const Op& op, size_t input) {
  return op.inputs.size() > input && op.inputs[input] != kNoTensor;
}

// Weights with their zero points (constants both), packed as `place` says; one zero point per
// `zero_of(element)`.
template <typename Place, typename ZeroOf>
std::vector<int16_t> packed_weights(const Lowering& lowering, const Op& op, const Place& place,
                                    const ZeroOf& zero_of) {
  const TensorType& type = lowering.type(op.inputs[1]);
  std::vector<int16_t> packed(static_cast<size_t>(type.elements()));
  const std::byte* from = lowering.constant_bytes(op.inputs[1]).data();
  const std::byte* zeros = given(op, 3) ? lowering.constant_bytes(op.inputs[3]).data() : nullptr;
  const int64_t zero_count = zeros == nullptr ? 0 : lowering.type(op.inputs[3]).elements();
  for (int64_t i = 0; i < type.elements(); ++i) {
    const int32_t zero =
        zeros == nullptr ? 0 : integer_at(type.dtype, zeros, zero_count == 1 ? 0 : zero_of(i));
    packed[static_cast<size_t>(place(i))] =
        static_cast<int16_t>(integer_at(type.dtype, from, i) - zero);
  }
  return packed;
}

// The left operand as int16 minus its one zero point, which may be computed.
ValueId centred_left(Lowering& lowering, const Op& op, Layout layout) {
  const TensorId left = op.inputs[0];
  const int64_t count = lowering.type(left).elements();
  const ValueId from = lowering.value(left, layout);
  const ValueId zero = given(op, 2) ? lowering.value(op.inputs[2], Layout::kPlain) : kNoValue;
  const ValueId to = lowering.temporary(static_cast<uint64_t>(count) * sizeof(int16_t));
  const DType dtype = lowering.type(left).dtype;
  std::vector<ValueId> reads = {from};
  if (zero != kNoValue) reads.push_back(zero);
  Lowering::StepOptions options;
  options.parallel = count >= 64 * 1024;
  lowering.add(step_of([=](const RunContext& context) {
                 const Share share = share_of(count, context.part, context.parts, 64);
                 const int32_t origin =
                     zero == kNoValue ? 0 : integer_at(dtype, context.at<std::byte>(zero), 0);
                 centre(dtype, context.at<std::byte>(from) + share.begin, origin,
                        context.at<int16_t>(to) + share.begin, share.end - share.begin);
               }),
               "own: to int16", std::move(reads), {to}, std::move(options));
  return to;
}

// The same weights for the library, in their own order: bytes, if they stay bytes without their
// zero points and if its sums are exact here. `channel_of(element)` says whose sum an element is
// in.
template <typename ChannelOf>
std::optional<std::vector<int8_t>> byte_weights(const Lowering& lowering, const Op& op,
                                                int64_t channels, const ChannelOf& channel_of) {
  if (given(op, 2) &&
      (!lowering.is_constant(op.inputs[2]) || lowering.type(op.inputs[2]).elements() != 1)) {
    return std::nullopt;
  }
  const std::vector<int16_t> wide = packed_weights(
      lowering, op, [](int64_t i) { return i; }, channel_of);
  std::vector<int8_t> bytes(wide.size());
  std::vector<int64_t> sums(static_cast<size_t>(channels), 0);
  for (size_t i = 0; i < wide.size(); ++i) {
    if (wide[i] < -128 || wide[i] > 127) return std::nullopt;
    bytes[i] = static_cast<int8_t>(wide[i]);
    sums[static_cast<size_t>(channel_of(static_cast<int64_t>(i)))] += std::abs(wide[i]);
  }
  const int64_t most = sums.empty() ? 0 : *std::max_element(sums.begin(), sums.end());
  if (!is_exact_here(most * 255)) return std::nullopt;
  return bytes;
}

int32_t constant_zero(const Lowering& lowering, const Op& op) {
  if (!given(op, 2)) return 0;
  return integer_at(lowering.type(op.inputs[2]).dtype, lowering.constant_bytes(op.inputs[2]).data(),
                    0);
}

// False, and nothing changed, where the library has no code of its own.
bool add_by_library(Lowering& lowering, const Op& op, ConvolutionSpec spec,
                    const std::vector<int8_t>& weights, Layout layout) {
  spec.source_type = lowering.type(op.inputs[0]).dtype;
  spec.source_zero = constant_zero(lowering, op);
  spec.byte_weights = weights.data();
  spec.source = lowering.value(op.inputs[0], layout);
  spec.destination = lowering.define(op.outputs[0], layout);
  if (add_convolution(lowering, spec).ok()) return true;
  lowering.forget(op.outputs[0]);
  return false;
}

// --- MatMulInteger ---

// Rows are the pixels of a 1x1 convolution.
ConvolutionSpec product_spec(int64_t rows, int64_t inner, int64_t columns) {
  ConvolutionSpec spec;
  spec.in_channels = inner;
  spec.out_channels = columns;
  spec.in = {rows, 1};
  spec.out = spec.in;
  spec.kernel = {1, 1};
  spec.strides = {1, 1};
  spec.dilations = {1, 1};
  spec.pads_begin = {0, 0};
  spec.weight_strides = {1, columns, 1, 1};
  return spec;
}

bool lower_matmul(Lowering& lowering, const Op& op) {
  const Shape& a = lowering.shape(op.inputs[0]);
  const Shape& b = lowering.shape(op.inputs[1]);
  if (b.size() != 2 || a.empty()) return false;
  if (given(op, 2) && lowering.type(op.inputs[2]).elements() != 1) return false;
  const int64_t inner = b[0];
  const int64_t columns = b[1];
  const int64_t rows = inner == 0 ? 0 : lowering.type(op.inputs[0]).elements() / inner;
  if (rows == 0 || columns == 0) return false;
  if (given(op, 3) && lowering.type(op.inputs[3]).elements() != 1 &&
      lowering.type(op.inputs[3]).elements() != columns) {
    return false;
  }
  const auto bytes = byte_weights(lowering, op, columns, [=](int64_t i) { return i % columns; });
  if (bytes &&
      add_by_library(lowering, op, product_spec(rows, inner, columns), *bytes, Layout::kPlain)) {
    return true;
  }
  std::vector<int16_t> weights = packed_weights(
      lowering, op, [=](int64_t i) { return i % columns * inner + i / columns; },
      [=](int64_t i) { return i % columns; });
  const ValueId left = centred_left(lowering, op, Layout::kPlain);
  const ValueId out = lowering.define(op.outputs[0], Layout::kPlain);
  Lowering::StepOptions options;
  options.parallel = rows * inner * columns >= kSharedWork;
  lowering.add(
      step_of([=, weights = std::move(weights)](const RunContext& context) {
        // Columns are shared out where there are too few rows.
        const bool by_rows = rows >= static_cast<int64_t>(context.parts);
        const Share row = by_rows ? share_of(rows, context.part, context.parts) : Share{0, rows};
        const Share column =
            by_rows ? Share{0, columns} : share_of(columns, context.part, context.parts, 4);
        const int16_t* from = context.at<int16_t>(left);
        int32_t* to = context.at<int32_t>(out);
        for (int64_t r = row.begin; r < row.end; ++r) {
          integer_products(from + r * inner, weights.data() + column.begin * inner, inner,
                           column.end - column.begin, to + r * columns + column.begin);
        }
      }),
      "own: integer product", {left}, {out}, std::move(options));
  return true;
}

// --- ConvInteger ---

// Channels last on both sides. Every output position gathers the elements its window sees, group by
// group, zero in the padding, and meets each output channel's weights in the same order.
struct IntegerConvolution {
  static constexpr size_t kMost = 3;
  size_t axes = 0;
  int64_t batch = 1;
  int64_t groups = 1;
  int64_t in_channels = 1;   // of a group
  int64_t out_channels = 1;  // of a group
  int64_t taps = 1;
  int64_t positions = 1;  // of the output, one picture
  int64_t in[kMost] = {1, 1, 1};
  int64_t out[kMost] = {1, 1, 1};
  int64_t kernel[kMost] = {1, 1, 1};
  int64_t stride[kMost] = {1, 1, 1};
  int64_t dilation[kMost] = {1, 1, 1};
  int64_t pad[kMost] = {0, 0, 0};

  int64_t patch() const { return groups * taps * in_channels; }

  // The input position tap `tap` sees from output position `at`; -1 in the padding.
  int64_t source(int64_t at, int64_t tap) const {
    int64_t positions_of[kMost];
    for (size_t i = kMost; i-- > 0;) {
      positions_of[i] = at % out[i] * stride[i] + tap % kernel[i] * dilation[i] - pad[i];
      at /= out[i];
      tap /= kernel[i];
    }
    int64_t flat = 0;
    for (size_t i = 0; i < kMost; ++i) {
      if (positions_of[i] < 0 || positions_of[i] >= in[i]) return -1;
      flat = flat * in[i] + positions_of[i];
    }
    return flat;
  }

  void gather(const int16_t* picture, int64_t at, int16_t* to) const {
    const int64_t channels = groups * in_channels;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t from = source(at, tap);
      for (int64_t g = 0; g < groups; ++g) {
        int16_t* piece = to + (g * taps + tap) * in_channels;
        const auto bytes = static_cast<size_t>(in_channels) * sizeof(int16_t);
        if (from < 0) {
          std::memset(piece, 0, bytes);
        } else {
          std::memcpy(piece, picture + from * channels + g * in_channels, bytes);
        }
      }
    }
  }
};

IntegerConvolution geometry_of(const Lowering& lowering, const Op& op) {
  const Shape& x = lowering.shape(op.inputs[0]);
  const Shape& w = lowering.shape(op.inputs[1]);
  const Shape& y = lowering.shape(op.outputs[0]);
  const auto strides = op.attributes.get_ints("strides");
  const auto dilations = op.attributes.get_ints("dilations");
  const auto pads = op.attributes.get_ints("pads");
  IntegerConvolution c;
  c.axes = x.size() - 2;
  c.batch = x[0];
  c.groups = op.attributes.get_int("group", 1);
  c.in_channels = w[1];
  c.out_channels = w[0] / c.groups;
  for (size_t i = 0; i < c.axes; ++i) {
    const size_t to = IntegerConvolution::kMost - c.axes + i;
    c.in[to] = x[i + 2];
    c.out[to] = y[i + 2];
    c.kernel[to] = w[i + 2];
    c.stride[to] = strides[i];
    c.dilation[to] = dilations[i];
    c.pad[to] = pads[i];
    c.taps *= w[i + 2];
    c.positions *= y[i + 2];
  }
  return c;
}

bool lower_convolution_of_integers(Lowering& lowering, const Op& op) {
  const Shape& x = lowering.shape(op.inputs[0]);
  if (x.size() > 2 + IntegerConvolution::kMost) return false;
  if (lowering.type(op.outputs[0]).elements() == 0 || lowering.type(op.inputs[0]).elements() == 0) {
    return false;
  }
  const IntegerConvolution c = geometry_of(lowering, op);
  const int64_t length = c.taps * c.in_channels;  // of one output channel's weights
  if (length == 0) return false;
  const auto bytes =
      byte_weights(lowering, op, c.groups * c.out_channels, [&](int64_t i) { return i / length; });
  if (bytes) {
    ConvolutionSpec spec = convolution_spec(lowering, op);
    to_two_axes(spec);
    if (add_by_library(lowering, op, spec, *bytes, Layout::kChannelsLast)) return true;
  }
  std::vector<int16_t> weights = packed_weights(
      lowering, op,
      [&](int64_t i) {
        const int64_t rest = i % length;
        return i - rest + rest % c.taps * c.in_channels + rest / c.taps;
      },
      [&](int64_t i) { return i / length; });
  const ValueId left = centred_left(lowering, op, Layout::kChannelsLast);
  const unsigned members = lowering.members();
  const auto patch_bytes = static_cast<uint64_t>(c.patch()) * sizeof(int16_t);
  const uint64_t stride = (patch_bytes + 63) / 64 * 64;
  const ValueId patches = lowering.temporary(stride * members);
  const ValueId out = lowering.define(op.outputs[0], Layout::kChannelsLast);
  Lowering::StepOptions options;
  options.parallel = c.batch * c.positions * c.groups * c.out_channels * length >= kSharedWork;
  lowering.add(
      step_of([=, weights = std::move(weights)](const RunContext& context) {
        auto* patch =
            reinterpret_cast<int16_t*>(context.at<std::byte>(patches) + stride * context.part);
        const int64_t channels = c.groups * c.in_channels;
        const int64_t picture = channels * c.in[0] * c.in[1] * c.in[2];
        const Share share = share_of(c.batch * c.positions, context.part, context.parts);
        for (int64_t i = share.begin; i < share.end; ++i) {
          c.gather(context.at<int16_t>(left) + i / c.positions * picture, i % c.positions, patch);
          int32_t* to = context.at<int32_t>(out) + i * c.groups * c.out_channels;
          for (int64_t g = 0; g < c.groups; ++g) {
            integer_products(patch + g * length, weights.data() + g * c.out_channels * length,
                             length, c.out_channels, to + g * c.out_channels);
          }
        }
      }),
      "own: integer convolution", {left}, {out, patches}, std::move(options));
  return true;
}

}  // namespace

Result<bool> lower_integer(Lowering& lowering) {
  const Op& op = lowering.op();
  if (op.kind != OpKind::kConvInteger && op.kind != OpKind::kMatMulInteger) return false;
  if (!lowering.is_constant(op.inputs[1])) return false;
  if (given(op, 3) && !lowering.is_constant(op.inputs[3])) return false;
  return op.kind == OpKind::kMatMulInteger ? lower_matmul(lowering, op)
                                           : lower_convolution_of_integers(lowering, op);
}

}  // namespace modeld::cpu
