// Normalisations, reductions, Resize and ops that move data.
#include <algorithm>
#include <numeric>

#include "tests/differential/case_maker.h"

namespace modeld::test {
namespace {

using Ints = std::vector<int64_t>;

Proposal propose_gather(Random& random, const Operand& data) {
  Proposal proposal;
  const auto axis = random.between(0, static_cast<int64_t>(data.type.shape.size()) - 1);
  Operand index{{random.pick({DType::kInt32, DType::kInt64}), random_shape(random, 0, 2)},
                Values::kIndex,
                0.4,
                data.type.shape[static_cast<size_t>(axis)]};
  if (random.chance(0.1)) {
    // A constant index out of range is the compiler's to refuse.
    index.values = Values::kStrayIndex;
    index.constant = 0;
    proposal.portable = false;
  }
  proposal.attributes["axis"] = axis;
  proposal.inputs = {data, index};
  return proposal;
}

void propose_pad(Random& random, Proposal& proposal, const Shape& shape) {
  Ints pads(2 * shape.size());
  for (int64_t& pad : pads) pad = random.pick<int64_t>({0, 0, 1, 2, 3});
  proposal.attributes["pads"] = pads;
  const auto mode = random.pick<std::string>({"constant", "constant", "reflect", "edge", "wrap"});
  proposal.attributes["mode"] = mode;
  for (size_t i = 0; i < pads.size(); ++i) {
    // ONNX Runtime 1.30 reads beside the tensor where it wraps around more than once.
    if (mode == "wrap" && pads[i] > shape[i % shape.size()]) proposal.portable = false;
  }
  if (mode == "constant" && random.chance(0.5)) {
    proposal.attributes["value"] = static_cast<double>(random.between(0, 3));
  }
}

void propose_slice(Random& random, Proposal& proposal, const Shape& shape) {
  Ints starts, steps, sizes;
  for (const int64_t extent : shape) {
    const int64_t step = random.pick<int64_t>({1, 1, 1, 2, 3, -1, -2});
    const int64_t start = random.between(0, extent - 1);
    const int64_t most = step > 0 ? (extent - 1 - start) / step + 1 : start / -step + 1;
    starts.push_back(start);
    steps.push_back(step);
    sizes.push_back(random.between(1, most));
  }
  proposal.attributes = {{"starts", starts}, {"steps", steps}, {"sizes", sizes}};
}

Ints parts_of(Random& random, int64_t extent) {
  Ints parts;
  while (extent > 0) {
    parts.push_back(random.between(1, extent));
    extent -= parts.back();
  }
  return parts;
}

// The same elements under other extents: factors joined and split at random.
Shape reshaped(Random& random, const Shape& shape) {
  int64_t rest = *checked_elements(shape);
  Shape out;
  while (rest > 1 && out.size() < 5) {
    int64_t factor = random.pick<int64_t>({1, 2, 3, 5, 7, 11, 13, 17});
    if (rest % factor != 0) factor = random.chance(0.3) ? rest : 1;
    out.push_back(factor);
    rest /= factor;
  }
  out.push_back(rest);
  return out;
}

}  // namespace

Proposal propose_normalisation(Random& random, OpKind kind) {
  Proposal proposal;
  const DType dtype = random_float(random);
  const std::string_view name = to_string(kind);
  const bool softmax = name == "Softmax" || name == "LogSoftmax";
  const Shape shape = random_shape(random, softmax ? 1 : 2, 4);
  const Values values = random_values(random, Values::kSpecial);
  proposal.portable = values != Values::kSpecial;
  const auto rank = static_cast<int64_t>(shape.size());
  proposal.inputs.push_back(Operand{{dtype, shape}, values});
  if (softmax) {
    proposal.attributes["axis"] = random.between(0, rank - 1);
    return proposal;
  }
  proposal.attributes["epsilon"] = random.pick({1e-5, 1e-3, 1e-6});
  if (kind == OpKind::kBatchNormalization) {
    const Shape channels = {shape[1]};
    for (const Values each : {Values::kUnit, Values::kUnit, Values::kUnit, Values::kPositive}) {
      proposal.inputs.push_back(Operand{{dtype, channels}, each, 0.8});
    }
    return proposal;
  }
  const int64_t axis = random.between(0, rank - 1);
  proposal.attributes["axis"] = axis;
  const Shape tail(shape.begin() + axis, shape.end());
  proposal.inputs.push_back(Operand{{dtype, tail}, Values::kUnit, 0.8});
  const bool shifted = name == "LayerNormalization" && random.chance(0.6);
  if (shifted) proposal.inputs.push_back(Operand{{dtype, tail}, Values::kUnit, 0.8});
  return proposal;
}

Proposal propose_reduction(Random& random, OpKind kind) {
  Proposal proposal;
  const bool arg = kind == OpKind::kArgMax || kind == OpKind::kArgMin;
  const bool order = arg || kind == OpKind::kReduceMax || kind == OpKind::kReduceMin;
  const Shape shape = random_shape(random, 1, 5);
  const Values values = random_values(random, order ? Values::kExtreme : Values::kSpecial);
  proposal.portable = values == Values::kPlain || values == Values::kWide;
  Operand x{{random_dtype(random), shape}, values};
  if (!is_float(x.type.dtype) && x.values == Values::kWide) proposal.portable = false;
  if (kind == OpKind::kReduceProd) {
    if (is_float(x.type.dtype)) x.values = Values::kPositive;
    // Elsewhere integers that overflow saturate.
    if (!is_float(x.type.dtype)) proposal.portable = false;
  }
  const auto rank = static_cast<int64_t>(shape.size());
  proposal.attributes["keepdims"] = int64_t{random.chance(0.5)};
  if (arg) {
    proposal.attributes["axis"] = random.between(0, rank - 1);
    if (random.chance(0.3)) proposal.attributes["select_last_index"] = int64_t{1};
  } else {
    Ints axes;
    for (int64_t axis = 0; axis < rank; ++axis) {
      if (random.chance(0.5)) axes.push_back(axis);
    }
    proposal.attributes["axes"] = axes;
  }
  proposal.inputs.push_back(x);
  return proposal;
}

Proposal propose_resize(Random& random, OpKind) {
  Proposal proposal;
  Shape shape = {random.between(1, 2), random.between(1, 5)};
  const int64_t axes = random.pick<int64_t>({1, 2, 2, 2, 3});
  for (int64_t i = 0; i < axes; ++i) shape.push_back(random.between(1, axes == 3 ? 5 : 11));
  const auto mode = random.pick<std::string>({"nearest", "linear", "cubic"});
  const auto coordinates = random.pick<std::string>(
      {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"});
  std::vector<double> scales(shape.size(), 1);
  Ints sizes = shape;
  for (size_t axis = 2; axis < shape.size(); ++axis) {
    if (random.chance(0.2)) continue;
    // Exact in binary, so that nobody rounds a size or a coordinate differently.
    scales[axis] = random.pick({0.5, 2.0, 1.5, 3.0, 0.75, 2.5, 1.0});
    sizes[axis] = static_cast<int64_t>(static_cast<double>(shape[axis]) * scales[axis]);
    if (sizes[axis] == 0) {
      sizes[axis] = shape[axis];
      scales[axis] = 1;
    }
    // Here the corners are those of a fraction of a pixel, as in ONNX's own cases; ONNX Runtime
    // rounds first.
    const double exact = static_cast<double>(shape[axis]) * scales[axis];
    const bool fraction = static_cast<double>(sizes[axis]) != exact;
    if (coordinates == "align_corners" && fraction) proposal.portable = false;
    if (coordinates == "pytorch_half_pixel" && fraction && sizes[axis] == 1) {
      proposal.portable = false;
    }
    // The shift is no binary fraction then, and float32 finds other neighbours than double.
    if (coordinates == "half_pixel_symmetric" && mode == "nearest" && fraction) {
      proposal.portable = false;
    }
  }
  proposal.attributes = {{"mode", mode},
                         {"coordinate_transformation_mode", coordinates},
                         {"scales", scales},
                         {"sizes", sizes}};
  if (mode == "nearest") {
    proposal.attributes["nearest_mode"] =
        random.pick<std::string>({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  } else if (mode == "cubic") {
    if (random.chance(0.4)) proposal.attributes["cubic_coeff_a"] = -0.5;
    if (random.chance(0.3)) proposal.attributes["exclude_outside"] = int64_t{1};
  }
  const DType dtype = random.chance(0.9) ? random_float(random) : random_dtype(random);
  // How a number between two integers becomes one is not said.
  if (!is_float(dtype) && mode != "nearest") proposal.portable = false;
  proposal.inputs.push_back(Operand{{dtype, shape}});
  return proposal;
}

Proposal propose_move(Random& random, OpKind kind) {
  Proposal proposal;
  const Values values = random_values(random, Values::kExtreme);
  const Shape shape = random_shape(random, 1, 5);
  const auto rank = static_cast<int64_t>(shape.size());
  Operand x{{random_dtype(random), shape}, values};
  const auto some_axis = random.between(0, rank - 1);
  switch (kind) {
    case OpKind::kGather:
      return propose_gather(random, x);
    case OpKind::kConcat: {
      const int64_t count = random.between(1, 4);
      for (int64_t i = 1; i < count; ++i) {
        Operand other = x;
        other.type.shape[static_cast<size_t>(some_axis)] = random_extent(random);
        proposal.inputs.push_back(other);
      }
      proposal.attributes["axis"] = some_axis;
      break;
    }
    case OpKind::kExpand:
      x.type.shape = narrowed(random, shape);
      proposal.attributes["shape"] = Ints(shape);
      break;
    case OpKind::kPad:
      propose_pad(random, proposal, shape);
      break;
    case OpKind::kReshape:
      proposal.attributes["shape"] = Ints(reshaped(random, shape));
      break;
    case OpKind::kSlice:
      propose_slice(random, proposal, shape);
      break;
    case OpKind::kSplit:
      proposal.attributes["axis"] = some_axis;
      proposal.attributes["split"] = parts_of(random, shape[static_cast<size_t>(some_axis)]);
      break;
    case OpKind::kTile: {
      Ints repeats(shape.size());
      for (int64_t& repeat : repeats) repeat = random.pick<int64_t>({1, 1, 2, 3});
      proposal.attributes["repeats"] = repeats;
      break;
    }
    default: {
      Ints perm(shape.size());
      std::iota(perm.begin(), perm.end(), 0);
      for (size_t i = perm.size(); i > 1; --i) {
        std::swap(perm[i - 1],
                  perm[static_cast<size_t>(random.between(0, static_cast<int64_t>(i) - 1))]);
      }
      proposal.attributes["perm"] = perm;
      break;
    }
  }
  proposal.inputs.insert(proposal.inputs.begin(), x);
  return proposal;
}

}  // namespace modeld::test
