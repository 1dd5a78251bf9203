// Ops that move or relabel elements and compute nothing.
#include <algorithm>

#include "runtime/program/infer_rules.h"

namespace modeld::infer {
namespace {

Result<Types> infer_cast(const Call& call) {
  const std::string name = call.attributes.get_string("to");
  const auto dtype = parse_dtype(name);
  if (!dtype || *dtype == DType::kNv12) {
    return wrong(call, "attribute to", "an element type", name.substr(0, 64));
  }
  return Types{{*dtype, call.shape(0)}};
}

bool equal_but_for(const Shape& a, const Shape& b, size_t axis) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (i != axis && a[i] != b[i]) return false;
  }
  return true;
}

Result<Types> infer_concat(const Call& call) {
  MODELD_TRY(need_one_dtype(call));
  MODELD_ASSIGN(const int64_t axis, axis_of(call, call.rank(0)));
  const auto at = static_cast<size_t>(axis);
  Shape out = call.shape(0);
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    if (!equal_but_for(call.shape(i), out, at)) {
      return wrong(call, "input " + std::to_string(i),
                   "the extents of input 0 " + to_string(call.in(0)) + " but for axis " +
                       std::to_string(axis),
                   to_string(call.in(i)));
    }
    out[at] += call.shape(i)[at];  // each below 2^31, so the sum cannot wrap
  }
  return Types{{call.in(0).dtype, std::move(out)}};
}

Result<Types> infer_expand(const Call& call) {
  Shape shape = call.attributes.get_ints("shape");
  MODELD_TRY(ints_of(call, "shape", shape.size(), 0));
  if (!broadcasts_to(call.shape(0), shape)) {
    return wrong(call, "attribute shape",
                 "a shape that " + to_string(call.in(0)) + " broadcasts to", to_string(shape));
  }
  return Types{{call.in(0).dtype, std::move(shape)}};
}

Result<Types> infer_gather(const Call& call) {
  const DType index = call.in(1).dtype;
  if (index != DType::kInt32 && index != DType::kInt64) {
    return wrong(call, "input 1", "i32 or i64", to_string(call.in(1)));
  }
  MODELD_ASSIGN(const int64_t axis, axis_of(call, call.rank(0)));
  const Shape& x = call.shape(0);
  Shape out(x.begin(), x.begin() + axis);
  out.insert(out.end(), call.shape(1).begin(), call.shape(1).end());
  out.insert(out.end(), x.begin() + axis + 1, x.end());
  return Types{{call.in(0).dtype, std::move(out)}};
}

Result<Types> infer_pad(const Call& call) {
  const Shape& x = call.shape(0);
  MODELD_TRY(need_one_of(call, "mode", {"constant", "reflect", "edge", "wrap"}));
  MODELD_ASSIGN(const auto pads, ints_of(call, "pads", 2 * x.size(), 0));
  const std::string mode = call.attributes.get_string("mode");
  Shape out = x;
  for (size_t axis = 0; axis < x.size(); ++axis) {
    const int64_t before = pads[axis];
    const int64_t after = pads[x.size() + axis];
    const int64_t source = mode == "reflect" ? std::max(before, after) + 1 : 1;
    if (mode != "constant" && before + after > 0 && x[axis] < source) {
      return wrong(call, "attribute pads",
                   mode + " padding of axis " + std::to_string(axis) + " from at least " +
                       std::to_string(source) + " elements",
                   to_string(call.in(0)));
    }
    out[axis] += before + after;
  }
  return Types{{call.in(0).dtype, std::move(out)}};
}

Result<Types> infer_reshape(const Call& call) {
  Shape shape = call.attributes.get_ints("shape");
  MODELD_TRY(ints_of(call, "shape", shape.size(), 0));
  if (checked_elements(shape) != checked_elements(call.shape(0))) {
    return wrong(call, "attribute shape", "as many elements as " + to_string(call.in(0)),
                 to_string(shape));
  }
  return Types{{call.in(0).dtype, std::move(shape)}};
}

Status check_slice_axis(const Call& call, size_t axis, int64_t start, int64_t step, int64_t size) {
  const int64_t extent = call.shape(0)[axis];
  const auto inside = [&](int64_t index) { return index >= 0 && index < extent; };
  if (step != 0 && step >= -kMaxExtent && step <= kMaxExtent) {
    if (size == 0) return {};
    // size and step are both below 2^31 in magnitude, so nothing here wraps.
    if (inside(start) && inside(start + (size - 1) * step)) return {};
  }
  return wrong(call, "attributes starts, steps, sizes",
               "elements inside axis " + std::to_string(axis) + " of " + to_string(call.in(0)),
               "start " + std::to_string(start) + ", step " + std::to_string(step) + ", size " +
                   std::to_string(size));
}

Result<Types> infer_slice(const Call& call) {
  const Shape& x = call.shape(0);
  const std::vector<int64_t> starts = call.attributes.get_ints("starts");
  const std::vector<int64_t> steps = call.attributes.get_ints("steps");
  MODELD_ASSIGN(Shape sizes, ints_of(call, "sizes", x.size(), 0));
  if (starts.size() != x.size() || steps.size() != x.size()) {
    return wrong(call, "attributes starts, steps", std::to_string(x.size()) + " values each",
                 std::to_string(starts.size()) + " and " + std::to_string(steps.size()));
  }
  for (size_t axis = 0; axis < x.size(); ++axis) {
    MODELD_TRY(check_slice_axis(call, axis, starts[axis], steps[axis], sizes[axis]));
  }
  return Types{{call.in(0).dtype, std::move(sizes)}};
}

Result<Types> infer_split(const Call& call) {
  MODELD_ASSIGN(const int64_t axis, axis_of(call, call.rank(0)));
  const std::vector<int64_t> sizes = call.attributes.get_ints("split");
  MODELD_TRY(ints_of(call, "split", sizes.size(), 0));
  const int64_t extent = call.shape(0)[static_cast<size_t>(axis)];
  Types types;
  int64_t rest = extent;
  for (const int64_t size : sizes) {
    Shape shape = call.shape(0);
    shape[static_cast<size_t>(axis)] = size;
    types.push_back({call.in(0).dtype, std::move(shape)});
    rest -= size;
    if (rest < 0) break;
  }
  if (sizes.empty() || rest != 0) {
    return wrong(call, "attribute split", "sizes that add up to " + std::to_string(extent),
                 rest < 0 ? "more" : std::to_string(extent - rest));
  }
  return types;
}

Result<Types> infer_tile(const Call& call) {
  MODELD_ASSIGN(Shape out, ints_of(call, "repeats", call.shape(0).size(), 0));
  for (size_t axis = 0; axis < out.size(); ++axis) out[axis] *= call.shape(0)[axis];
  return Types{{call.in(0).dtype, std::move(out)}};
}

Result<Types> infer_transpose(const Call& call) {
  const Shape& x = call.shape(0);
  MODELD_ASSIGN(const auto perm, ints_of(call, "perm", x.size(), 0));
  std::vector<bool> seen(x.size(), false);
  Shape out;
  for (const int64_t axis : perm) {
    if (axis >= call.rank(0) || seen[static_cast<size_t>(axis)]) {
      return wrong(call, "attribute perm", "each axis of " + to_string(call.in(0)) + " once",
                   to_string(perm));
    }
    seen[static_cast<size_t>(axis)] = true;
    out.push_back(x[static_cast<size_t>(axis)]);
  }
  return Types{{call.in(0).dtype, std::move(out)}};
}

}  // namespace

Result<Types> infer_data(const Call& call) {
  switch (call.kind) {
    case OpKind::kCast:
      return infer_cast(call);
    case OpKind::kConcat:
      return infer_concat(call);
    case OpKind::kExpand:
      return infer_expand(call);
    case OpKind::kGather:
      return infer_gather(call);
    case OpKind::kPad:
      return infer_pad(call);
    case OpKind::kReshape:
      return infer_reshape(call);
    case OpKind::kSlice:
      return infer_slice(call);
    case OpKind::kSplit:
      return infer_split(call);
    case OpKind::kTile:
      return infer_tile(call);
    default:
      return infer_transpose(call);
  }
}

}  // namespace modeld::infer
