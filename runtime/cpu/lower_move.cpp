// Ops that move elements. Where the bytes already lie right the output is a view and no step.
#include <algorithm>
#include <cstring>

#include "runtime/cpu/lowering.h"

namespace modeld::cpu {
namespace {

constexpr uint64_t kWorthSharing = 64 * 1024;  // bytes

size_t element_bytes(const Lowering& lowering, TensorId tensor) {
  return size_of(lowering.stored(tensor));
}

// --- Reshape and Transpose ---

// True if `to` only regroups the spatial axes of `from`, which channels-last storage keeps.
bool regroups_spatial(const Shape& from, const Shape& to) {
  return from.size() >= 3 && to.size() >= 3 && from[0] == to[0] && from[1] == to[1];
}

bool lower_reshape(Lowering& lowering, const Op& op) {
  const TensorId in = op.inputs[0];
  const TensorId out = op.outputs[0];
  const bool keeps_layout = lowering.layout(in) == Layout::kChannelsLast &&
                            regroups_spatial(lowering.shape(in), lowering.shape(out));
  const Layout layout = keeps_layout ? Layout::kChannelsLast : Layout::kPlain;
  lowering.define_view(out, layout, lowering.value(in, layout));
  return true;
}

// The input's axes in the order in which a transposed output of `layout` stores them, without
// those of extent 1.
std::vector<size_t> stored_axes(const Shape& in, const std::vector<int64_t>& perm, Layout layout) {
  std::vector<size_t> axes;
  for (const size_t axis : storage_order(perm.size(), layout)) {
    const auto source = static_cast<size_t>(perm[axis]);
    if (in[source] != 1) axes.push_back(source);
  }
  return axes;
}

bool lower_transpose(Lowering& lowering, const Op& op) {
  const TensorId in = op.inputs[0];
  const TensorId out = op.outputs[0];
  const Shape& shape = lowering.shape(in);
  const std::vector<int64_t> perm = op.attributes.get_ints("perm");
  std::vector<int64_t> unchanged(perm.size());
  for (size_t i = 0; i < unchanged.size(); ++i) unchanged[i] = static_cast<int64_t>(i);
  const Layout from_layout = lowering.layout(in);
  const std::vector<size_t> stored = stored_axes(shape, unchanged, from_layout);
  const ValueId from = lowering.value(in, from_layout);
  for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
    if (layout == Layout::kChannelsLast && perm.size() < 3) continue;
    if (stored_axes(shape, perm, layout) != stored) continue;
    lowering.define_view(out, layout, from);
    return true;
  }
  const std::vector<int64_t> from_strides = strides_of(shape, from_layout);
  const std::vector<int64_t> to_strides = strides_of(lowering.shape(out), Layout::kPlain);
  std::vector<CopyAxis> axes;
  for (size_t i = 0; i < perm.size(); ++i) {
    const auto source = static_cast<size_t>(perm[i]);
    axes.push_back({shape[source], from_strides[source], to_strides[i]});
  }
  const ValueId to = lowering.define(out, Layout::kPlain);
  lowering.add_copy(CopyPlan(element_bytes(lowering, in), std::move(axes)), "own: transpose", from,
                    to);
  return true;
}

// --- Slice and Split ---

struct Part {
  std::vector<int64_t> starts;
  std::vector<int64_t> steps;
};

// True if the part's elements follow each other without a gap in the whole.
bool is_contiguous(const Shape& whole, const Shape& sizes, const Part& part, Layout layout) {
  bool inside = false;  // an outer axis has more than one element
  for (const size_t axis : storage_order(whole.size(), layout)) {
    if (inside && sizes[axis] != whole[axis]) return false;
    if (sizes[axis] > 1 && part.steps[axis] != 1) return false;
    if (sizes[axis] > 1) inside = true;
  }
  return true;
}

void lower_part(Lowering& lowering, TensorId in, TensorId out, const Part& part) {
  const Layout layout = lowering.layout(in);
  const ValueId from = lowering.value(in, layout);
  const Shape& whole = lowering.shape(in);
  const Shape& sizes = lowering.shape(out);
  const std::vector<int64_t> strides = strides_of(whole, layout);
  const size_t bytes = element_bytes(lowering, in);
  int64_t offset = 0;
  if (lowering.type(out).elements() > 0) {
    for (size_t i = 0; i < whole.size(); ++i) offset += part.starts[i] * strides[i];
  }
  if (is_contiguous(whole, sizes, part, layout)) {
    lowering.define_view(out, layout, from, static_cast<uint64_t>(offset) * bytes);
    return;
  }
  const std::vector<int64_t> to_strides = strides_of(sizes, layout);
  std::vector<CopyAxis> axes;
  for (size_t i = 0; i < whole.size(); ++i) {
    axes.push_back({sizes[i], strides[i] * part.steps[i], to_strides[i]});
  }
  const ValueId to = lowering.define(out, layout);
  lowering.add_copy(CopyPlan(bytes, std::move(axes), offset), "own: slice", from, to);
}

bool lower_slice(Lowering& lowering, const Op& op) {
  lower_part(lowering, op.inputs[0], op.outputs[0],
             {op.attributes.get_ints("starts"), op.attributes.get_ints("steps")});
  return true;
}

bool lower_split(Lowering& lowering, const Op& op) {
  const size_t rank = lowering.shape(op.inputs[0]).size();
  const auto axis = static_cast<size_t>(op.attributes.get_int("axis"));
  Part part{std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 1)};
  for (const TensorId out : op.outputs) {
    lower_part(lowering, op.inputs[0], out, part);
    part.starts[axis] += lowering.shape(out)[axis];
  }
  return true;
}

// --- Concat ---

struct Piece {
  CopyPlan plan;
  ValueId from;
};

bool lower_concat(Lowering& lowering, const Op& op) {
  const TensorId out = op.outputs[0];
  const auto axis = static_cast<size_t>(op.attributes.get_int("axis"));
  int64_t channels_last_elements = 0;
  for (const TensorId in : op.inputs) {
    const bool blocked = lowering.layout(in) == Layout::kChannelsLast;
    const int64_t elements = lowering.is_constant(in) ? 0 : lowering.type(in).elements();
    channels_last_elements += blocked ? elements : -elements;
  }
  const Layout layout = channels_last_elements > 0 ? Layout::kChannelsLast : Layout::kPlain;
  const std::vector<int64_t> to_strides = strides_of(lowering.shape(out), layout);
  std::vector<Piece> pieces;
  std::vector<ValueId> reads;
  uint64_t bytes = 0;
  int64_t offset = 0;
  for (const TensorId in : op.inputs) {
    const Shape& shape = lowering.shape(in);
    const std::vector<int64_t> strides = strides_of(shape, layout);
    std::vector<CopyAxis> axes;
    for (size_t i = 0; i < shape.size(); ++i) axes.push_back({shape[i], strides[i], to_strides[i]});
    const ValueId from = lowering.value(in, layout);
    pieces.push_back({CopyPlan(element_bytes(lowering, in), std::move(axes), 0, offset), from});
    reads.push_back(from);
    bytes += pieces.back().plan.bytes();
    offset += shape[axis] * to_strides[axis];
  }
  const ValueId to = lowering.define(out, layout);
  Lowering::StepOptions options;
  options.parallel = bytes >= kWorthSharing;
  lowering.add(step_of([=, pieces = std::move(pieces)](const RunContext& context) {
                 for (const Piece& piece : pieces) {
                   piece.plan.run(context.at<std::byte>(piece.from), context.at<std::byte>(to),
                                  context.part, context.parts);
                 }
               }),
               "own: concat", std::move(reads), {to}, std::move(options));
  return true;
}

// --- Expand, Tile, Pad ---

bool lower_expand(Lowering& lowering, const Op& op) {
  const Shape& in = lowering.shape(op.inputs[0]);
  const Shape& out = lowering.shape(op.outputs[0]);
  const Layout layout = in.size() == out.size() ? lowering.layout(op.inputs[0]) : Layout::kPlain;
  const std::vector<int64_t> strides = strides_of(in, layout);
  const std::vector<int64_t> to_strides = strides_of(out, layout);
  const size_t skip = out.size() - in.size();
  std::vector<CopyAxis> axes;
  for (size_t i = 0; i < out.size(); ++i) {
    const bool repeats = i < skip || in[i - skip] == 1;
    axes.push_back({out[i], repeats ? 0 : strides[i - skip], to_strides[i]});
  }
  const ValueId from = lowering.value(op.inputs[0], layout);
  const ValueId to = lowering.define(op.outputs[0], layout);
  lowering.add_copy(CopyPlan(element_bytes(lowering, op.inputs[0]), std::move(axes)), "own: expand",
                    from, to);
  return true;
}

bool lower_tile(Lowering& lowering, const Op& op) {
  const Shape& in = lowering.shape(op.inputs[0]);
  const std::vector<int64_t> repeats = op.attributes.get_ints("repeats");
  const Layout layout = lowering.layout(op.inputs[0]);
  const std::vector<int64_t> strides = strides_of(in, layout);
  const std::vector<int64_t> to_strides = strides_of(lowering.shape(op.outputs[0]), layout);
  std::vector<CopyAxis> axes;
  for (size_t i = 0; i < in.size(); ++i) {
    axes.push_back({repeats[i], 0, in[i] * to_strides[i]});
    axes.push_back({in[i], strides[i], to_strides[i]});
  }
  const ValueId from = lowering.value(op.inputs[0], layout);
  const ValueId to = lowering.define(op.outputs[0], layout);
  lowering.add_copy(CopyPlan(element_bytes(lowering, op.inputs[0]), std::move(axes)), "own: tile",
                    from, to);
  return true;
}

bool lower_pad(Lowering& lowering, const Op& op) {
  if (op.attributes.get_string("mode") != "constant") return false;
  if (lowering.stored(op.inputs[0]) != DType::kFloat32) return false;
  const Shape& in = lowering.shape(op.inputs[0]);
  const Shape& out = lowering.shape(op.outputs[0]);
  const std::vector<int64_t> pads = op.attributes.get_ints("pads");
  const Layout layout = lowering.layout(op.inputs[0]);
  const std::vector<int64_t> strides = strides_of(in, layout);
  const std::vector<int64_t> to_strides = strides_of(out, layout);
  std::vector<CopyAxis> axes;
  int64_t offset = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    axes.push_back({in[i], strides[i], to_strides[i]});
    offset += pads[i] * to_strides[i];
  }
  const CopyPlan plan(sizeof(float), std::move(axes), 0, offset);
  const ValueId from = lowering.value(op.inputs[0], layout);
  const ValueId to = lowering.define(op.outputs[0], layout);
  const auto fill = static_cast<float>(op.attributes.get_float("value", 0));
  const int64_t count = lowering.type(op.outputs[0]).elements();
  // One thread: the fill and the copy write the same places.
  lowering.add(step_of([=](const RunContext& context) {
                 std::fill_n(context.at<float>(to), count, fill);
                 plan.run(context.at<std::byte>(from), context.at<std::byte>(to));
               }),
               "own: pad", {from}, {to});
  return true;
}

// --- Gather ---

struct GatherPlan {
  int64_t outer = 1;
  int64_t extent = 1;  // of the gathered axis
  int64_t indices = 1;
  size_t row_bytes = 0;
  ValueId from = kNoValue;
  ValueId index = kNoValue;
  ValueId to = kNoValue;
};

template <typename Index>
void gather(const GatherPlan& plan, const RunContext& context) {
  const Share share = share_of(plan.indices, context.part, context.parts);
  const Index* index = context.at<Index>(plan.index);
  const std::byte* from = context.at<std::byte>(plan.from);
  std::byte* to = context.at<std::byte>(plan.to);
  uint32_t outside = 0;
  for (int64_t i = share.begin; i < share.end; ++i) {
    const int64_t given = static_cast<int64_t>(index[i]);
    const int64_t at = given < 0 ? given + plan.extent : given;
    const bool inside = at >= 0 && at < plan.extent;
    if (!inside) ++outside;
    for (int64_t outer = 0; outer < plan.outer; ++outer) {
      std::byte* row = to + static_cast<size_t>(outer * plan.indices + i) * plan.row_bytes;
      if (inside) {
        std::memcpy(row, from + static_cast<size_t>(outer * plan.extent + at) * plan.row_bytes,
                    plan.row_bytes);
      } else {
        std::memset(row, 0, plan.row_bytes);
      }
    }
  }
  if (outside > 0) context.state.index_out_of_range += outside;
}

bool lower_gather(Lowering& lowering, const Op& op) {
  const Shape& in = lowering.shape(op.inputs[0]);
  const auto axis = static_cast<size_t>(op.attributes.get_int("axis"));
  GatherPlan plan;
  for (size_t i = 0; i < axis; ++i) plan.outer *= in[i];
  plan.extent = in[axis];
  plan.indices = lowering.type(op.inputs[1]).elements();
  plan.row_bytes = element_bytes(lowering, op.inputs[0]);
  for (size_t i = axis + 1; i < in.size(); ++i) plan.row_bytes *= static_cast<size_t>(in[i]);
  plan.from = lowering.value(op.inputs[0], Layout::kPlain);
  plan.index = lowering.value(op.inputs[1], Layout::kPlain);
  plan.to = lowering.define(op.outputs[0], Layout::kPlain);
  const bool wide = lowering.type(op.inputs[1]).dtype == DType::kInt64;
  const uint64_t bytes = plan.row_bytes * static_cast<uint64_t>(plan.outer * plan.indices);
  Lowering::StepOptions options;
  options.parallel = bytes >= kWorthSharing && plan.indices >= lowering.members();
  lowering.add(step_of([=](const RunContext& context) {
                 wide ? gather<int64_t>(plan, context) : gather<int32_t>(plan, context);
               }),
               "own: gather", {plan.from, plan.index}, {plan.to}, std::move(options));
  return true;
}

}  // namespace

Result<bool> lower_move(Lowering& lowering) {
  const Op& op = lowering.op();
  switch (op.kind) {
    case OpKind::kReshape:
      return lower_reshape(lowering, op);
    case OpKind::kTranspose:
      return lower_transpose(lowering, op);
    case OpKind::kSlice:
      return lower_slice(lowering, op);
    case OpKind::kSplit:
      return lower_split(lowering, op);
    case OpKind::kConcat:
      return lower_concat(lowering, op);
    case OpKind::kExpand:
      return lower_expand(lowering, op);
    case OpKind::kTile:
      return lower_tile(lowering, op);
    case OpKind::kPad:
      return lower_pad(lowering, op);
    case OpKind::kGather:
      return lower_gather(lowering, op);
    default:
      return false;
  }
}

}  // namespace modeld::cpu
