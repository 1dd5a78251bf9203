// Ops that move, repeat or convert elements.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "tools/compile/dtype_numbers.h"
#include "tools/compile/import_index.h"
#include "tools/compile/op_families.h"

namespace modeld::compile {
namespace {

Status emit_to_output(NodeImport& node, OpKind kind, std::vector<TensorId> inputs,
                      Attributes attributes) {
  MODELD_ASSIGN(const TensorId id, node.emit(kind, std::move(inputs), std::move(attributes)));
  node.set_output(0, id);
  return {};
}

Status cast_output(NodeImport& node, DType to) {
  MODELD_ASSIGN(const TensorId id, node.draft().cast_to(node.input(0), to, node.node().name));
  node.set_output(0, id);
  return {};
}

Status cast(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  // Both concern float8 and float4 types, which dtype_of() does not know.
  node.ignore_attr("saturate");
  node.ignore_attr("round_mode");
  MODELD_ASSIGN(const DType to, dtype_of(node.attr_int("to", 0)));
  return cast_output(node, to);
}

Status cast_like(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 2));
  node.ignore_attr("saturate");
  node.ignore_attr("round_mode");
  return cast_output(node, node.dtype(1));
}

Status concat(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(std::max<size_t>(node.input_count(), 1), node.input_count()));
  if (!node.has_attribute("axis")) return node.refused("attribute 'axis' is missing");
  MODELD_ASSIGN(const int64_t axis, node.resolve_axis(node.attr_int("axis", 0), node.rank(0)));
  if (node.input_count() == 1) {
    node.set_output(0, node.input(0));
    return {};
  }
  Attributes attributes;
  attributes.set("axis", axis);
  return emit_to_output(node, OpKind::kConcat, node.inputs(), std::move(attributes));
}

// The result has the broadcast of both shapes: a 1 in `shape` keeps the input's extent.
Status expand(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 2));
  MODELD_ASSIGN(Shape shape, node.constant_ints(1, "shape"));
  const Shape& from = node.shape(0);
  if (shape.size() < from.size()) shape.insert(shape.begin(), from.size() - shape.size(), 1);
  const size_t lead = shape.size() - from.size();
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (shape[lead + axis] == 1) shape[lead + axis] = from[axis];
  }
  if (shape == from) {
    node.set_output(0, node.input(0));
    return {};
  }
  Attributes attributes;
  attributes.set("shape", std::move(shape));
  return emit_to_output(node, OpKind::kExpand, {node.input(0)}, std::move(attributes));
}

Status gather(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 2));
  MODELD_ASSIGN(const int64_t axis, node.resolve_axis(node.attr_int("axis", 0), node.rank(0)));
  MODELD_TRY(check_constant_indices(node, 1, {node.shape(0)[static_cast<size_t>(axis)]}));
  Attributes attributes;
  attributes.set("axis", axis);
  return emit_to_output(node, OpKind::kGather, {node.input(0), node.input(1)},
                        std::move(attributes));
}

struct Padding {
  std::vector<int64_t> pads;  // begins then ends, for every axis of the input
  std::string mode;
  double value = 0;
};

// `axes` (opset 18) says which axes the pads belong to.
Result<std::vector<int64_t>> pads_of_all_axes(NodeImport& node, const std::vector<int64_t>& pads) {
  const size_t rank = node.shape(0).size();
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (node.has_input(3)) {
    MODELD_ASSIGN(axes, node.constant_ints(3, "axes"));
  }
  if (pads.size() != 2 * axes.size()) {
    return node.refused("'pads' has the wrong length")
        .expecting(std::to_string(2 * axes.size()), std::to_string(pads.size()));
  }
  std::vector<int64_t> result(2 * rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    MODELD_ASSIGN(const int64_t axis, node.resolve_axis(axes[i], node.rank(0)));
    result[static_cast<size_t>(axis)] = pads[i];
    result[rank + static_cast<size_t>(axis)] = pads[axes.size() + i];
  }
  return result;
}

Result<Padding> padding_of(NodeImport& node) {
  Padding padding;
  padding.mode = node.attr_string("mode", "constant");
  std::vector<int64_t> pads;
  if (node.opset() < 11) {
    MODELD_TRY(node.expect_inputs(1, 1));
    pads = node.attr_ints("pads");
    padding.value = node.attr_float("value", 0);
  } else {
    MODELD_TRY(node.expect_inputs(2, 4));
    MODELD_ASSIGN(pads, node.constant_ints(1, "pads"));
    if (node.has_input(2)) {
      MODELD_ASSIGN(padding.value, node.constant_scalar(2, "constant_value"));
    }
  }
  MODELD_ASSIGN(padding.pads, pads_of_all_axes(node, pads));
  return padding;
}

struct SliceSpec {
  std::vector<int64_t> starts;
  std::vector<int64_t> steps;
  std::vector<int64_t> sizes;

  explicit SliceSpec(const Shape& whole)
      : starts(whole.size(), 0), steps(whole.size(), 1), sizes(whole) {}

  Attributes attributes() const {
    Attributes result;
    result.set("starts", starts);
    result.set("steps", steps);
    result.set("sizes", sizes);
    return result;
  }
};

// Negative pads cut off.
Result<TensorId> crop(NodeImport& node, Padding& padding) {
  const size_t rank = node.shape(0).size();
  SliceSpec slice(node.shape(0));
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t extent = slice.sizes[axis];
    const int64_t before = std::clamp<int64_t>(padding.pads[axis], -extent - 1, 0);
    const int64_t after = std::clamp<int64_t>(padding.pads[rank + axis], -extent - 1, 0);
    if (extent + before + after < 0) {
      return node.refused("'pads' cut off more than there is")
          .expecting("at most " + std::to_string(extent) + " of axis " + std::to_string(axis),
                     std::to_string(-before - after));
    }
    slice.starts[axis] = -before;
    slice.sizes[axis] = extent + before + after;
    padding.pads[axis] = std::max<int64_t>(padding.pads[axis], 0);
    padding.pads[rank + axis] = std::max<int64_t>(padding.pads[rank + axis], 0);
  }
  if (slice.sizes == node.shape(0)) return node.input(0);
  if (padding.mode != "constant") return node.unsupported("negative 'pads' in this mode");
  return node.emit(OpKind::kSlice, {node.input(0)}, slice.attributes());
}

Status pad(NodeImport& node) {
  MODELD_ASSIGN(Padding padding, padding_of(node));
  MODELD_ASSIGN(const TensorId cropped, crop(node, padding));
  const auto& pads = padding.pads;
  if (std::all_of(pads.begin(), pads.end(), [](int64_t amount) { return amount == 0; })) {
    node.set_output(0, cropped);
    return {};
  }
  Attributes attributes;
  attributes.set("pads", padding.pads);
  attributes.set("mode", padding.mode);
  attributes.set("value", padding.value);
  return emit_to_output(node, OpKind::kPad, {cropped}, std::move(attributes));
}

// The parameters of Slice in either spelling.
struct SliceParameters {
  std::vector<int64_t> starts;
  std::vector<int64_t> ends;
  std::vector<int64_t> axes;
  std::vector<int64_t> steps;
};

Result<SliceParameters> slice_parameters(NodeImport& node) {
  SliceParameters given;
  if (node.opset() < 10) {
    MODELD_TRY(node.expect_inputs(1, 1));
    given = {node.attr_ints("starts"), node.attr_ints("ends"), node.attr_ints("axes"), {}};
  } else {
    MODELD_TRY(node.expect_inputs(3, 5));
    MODELD_ASSIGN(given.starts, node.constant_ints(1, "starts"));
    MODELD_ASSIGN(given.ends, node.constant_ints(2, "ends"));
    if (node.has_input(3)) {
      MODELD_ASSIGN(given.axes, node.constant_ints(3, "axes"));
    }
    if (node.has_input(4)) {
      MODELD_ASSIGN(given.steps, node.constant_ints(4, "steps"));
    }
  }
  if (given.axes.empty()) {
    given.axes.resize(given.starts.size());
    std::iota(given.axes.begin(), given.axes.end(), 0);
  }
  if (given.steps.empty()) given.steps.assign(given.starts.size(), 1);
  const size_t count = given.starts.size();
  if (given.ends.size() != count || given.axes.size() != count || given.steps.size() != count) {
    return node.refused("'starts', 'ends', 'axes' and 'steps' differ in length");
  }
  return given;
}

// Bounds count from the end if negative and are clamped to the axis, as in NumPy.
void slice_axis(SliceSpec& slice, size_t axis, int64_t start, int64_t end, int64_t step) {
  const int64_t extent = slice.sizes[axis];
  const auto resolved = [&](int64_t index, int64_t low, int64_t high) {
    if (index < 0) index = index < -extent ? low : index + extent;
    return std::clamp(index, low, high);
  };
  int64_t size = 0;
  if (step > 0) {
    start = resolved(start, 0, extent);
    end = resolved(end, 0, extent);
    if (end > start) size = (end - start - 1) / step + 1;
  } else {
    start = resolved(start, -1, extent - 1);
    end = resolved(end, -1, extent - 1);
    if (start > end) size = (start - end - 1) / -step + 1;
  }
  slice.starts[axis] = size == 0 ? 0 : start;
  // A step beyond the axis selects one element whatever its size; small numbers keep arithmetic
  // on it from overflowing.
  slice.steps[axis] = size <= 1 ? 1 : step;
  slice.sizes[axis] = size;
}

Status slice(NodeImport& node) {
  MODELD_ASSIGN(const SliceParameters given, slice_parameters(node));
  SliceSpec spec(node.shape(0));
  MODELD_TRY(node.resolve_axes(given.axes, node.rank(0)));
  for (size_t i = 0; i < given.axes.size(); ++i) {
    MODELD_ASSIGN(const int64_t axis, node.resolve_axis(given.axes[i], node.rank(0)));
    if (given.steps[i] == 0 || given.steps[i] == std::numeric_limits<int64_t>::min()) {
      return node.refused("impossible 'steps'");
    }
    slice_axis(spec, static_cast<size_t>(axis), given.starts[i], given.ends[i], given.steps[i]);
  }
  if (spec.sizes == node.shape(0) &&
      std::all_of(spec.steps.begin(), spec.steps.end(), [](int64_t step) { return step == 1; })) {
    node.set_output(0, node.input(0));
    return {};
  }
  return emit_to_output(node, OpKind::kSlice, {node.input(0)}, spec.attributes());
}

// Equal parts; from opset 18 the last may be smaller.
Result<std::vector<int64_t>> equal_parts(NodeImport& node, int64_t extent) {
  const auto count = static_cast<int64_t>(node.output_count());
  const int64_t named = node.attr_int("num_outputs", count);
  if (count < 1 || named != count || (node.opset() < 18 && extent % count != 0)) {
    return node.refused("the axis cannot be split evenly")
        .expecting("a multiple of " + std::to_string(count), std::to_string(extent));
  }
  const int64_t part = (extent + count - 1) / count;
  std::vector<int64_t> parts(static_cast<size_t>(count), part);
  parts.back() = extent - part * (count - 1);
  if (parts.back() < 0) return node.refused("the axis is too short to be split");
  return parts;
}

Status split(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, node.opset() < 13 ? 1 : 2));
  MODELD_ASSIGN(const int64_t axis, node.resolve_axis(node.attr_int("axis", 0), node.rank(0)));
  std::vector<int64_t> parts = node.attr_ints("split");
  if (node.has_input(1)) {
    MODELD_ASSIGN(parts, node.constant_ints(1, "split"));
  }
  if (parts.empty()) {
    MODELD_ASSIGN(parts, equal_parts(node, node.shape(0)[static_cast<size_t>(axis)]));
  }
  if (parts.size() != node.output_count()) {
    return node.refused("'split' and the outputs differ in number")
        .expecting(std::to_string(node.output_count()), std::to_string(parts.size()));
  }
  Attributes attributes;
  attributes.set("axis", axis);
  attributes.set("split", std::move(parts));
  MODELD_ASSIGN(const std::vector<TensorId> ids,
                node.emit_many(OpKind::kSplit, {node.input(0)}, std::move(attributes)));
  for (size_t i = 0; i < ids.size(); ++i) node.set_output(i, ids[i]);
  return {};
}

Status tile(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(2, 2));
  MODELD_ASSIGN(std::vector<int64_t> repeats, node.constant_ints(1, "repeats"));
  Attributes attributes;
  attributes.set("repeats", std::move(repeats));
  return emit_to_output(node, OpKind::kTile, {node.input(0)}, std::move(attributes));
}

Status transpose(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  std::vector<int64_t> perm = node.attr_ints("perm");
  if (!node.has_attribute("perm")) {
    perm.resize(node.shape(0).size());
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  Attributes attributes;
  attributes.set("perm", std::move(perm));
  return emit_to_output(node, OpKind::kTranspose, {node.input(0)}, std::move(attributes));
}

Result<int64_t> block_size(NodeImport& node) {
  MODELD_TRY(node.expect_inputs(1, 1));
  const int64_t block = node.attr_int("blocksize", 0);
  if (node.rank(0) != 4 || block < 1 || block > 65536) {
    return node.refused("not a picture, or an impossible 'blocksize'")
        .expecting("rank 4, 1..65536", to_string(node.shape(0)) + ", " + std::to_string(block));
  }
  return block;
}

// Channels become blocks of block x block pixels: depth-column-row or column-row-depth order.
Status depth_to_space(NodeImport& node) {
  MODELD_ASSIGN(const int64_t b, block_size(node));
  const Shape x = node.shape(0);
  if (x[1] % (b * b) != 0) {
    return node.refused("channels do not fill blocks")
        .expecting("a multiple of " + std::to_string(b * b), std::to_string(x[1]));
  }
  const int64_t depth = x[1] / (b * b);
  const std::string mode = node.attr_string("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") return node.refused("attribute 'mode' is not known");
  const bool blocks_first = mode == "DCR";
  MODELD_ASSIGN(TensorId id,
                node.reshape(node.input(0), blocks_first ? Shape{x[0], b, b, depth, x[2], x[3]}
                                                         : Shape{x[0], depth, b, b, x[2], x[3]}));
  MODELD_ASSIGN(
      id, node.transpose(id, blocks_first ? Shape{0, 3, 4, 1, 5, 2} : Shape{0, 1, 4, 2, 5, 3}));
  MODELD_ASSIGN(id, node.reshape(id, {x[0], depth, x[2] * b, x[3] * b}));
  node.set_output(0, id);
  return {};
}

Status space_to_depth(NodeImport& node) {
  MODELD_ASSIGN(const int64_t b, block_size(node));
  const Shape x = node.shape(0);
  if (x[2] % b != 0 || x[3] % b != 0) {
    return node.refused("the picture is not made of blocks")
        .expecting("sides that are multiples of " + std::to_string(b), to_string(x));
  }
  MODELD_ASSIGN(TensorId id, node.reshape(node.input(0), {x[0], x[1], x[2] / b, b, x[3] / b, b}));
  MODELD_ASSIGN(id, node.transpose(id, {0, 3, 5, 1, 2, 4}));
  MODELD_ASSIGN(id, node.reshape(id, {x[0], x[1] * b * b, x[2] / b, x[3] / b}));
  node.set_output(0, id);
  return {};
}

constexpr auto kImporters = std::to_array<ImporterRow>({
    {"Cast", cast},
    {"CastLike", cast_like},
    {"Concat", concat},
    {"DepthToSpace", depth_to_space},
    {"Expand", expand},
    {"Gather", gather},
    {"Pad", pad},
    {"Slice", slice},
    {"SpaceToDepth", space_to_depth},
    {"Split", split},
    {"Tile", tile},
    {"Transpose", transpose},
});

}  // namespace

std::span<const ImporterRow> data_importers() {
  return kImporters;
}

}  // namespace modeld::compile
