// Ops that pick, place and order elements by run-time numbers, and running sums.
#include <algorithm>

#include "tests/differential/case_maker.h"

namespace modeld::test {
namespace {

// Indices that fit every axis they may point into; some cases point outside, which no compiler may
// be given as a constant.
Operand indices(Random& random, Shape shape, int64_t extent, Proposal& proposal) {
  Operand operand{
      {random.pick({DType::kInt32, DType::kInt64}), std::move(shape)}, Values::kIndex, 0.3, extent};
  if (random.chance(0.1)) {
    operand.values = Values::kStrayIndex;
    operand.constant = 0;
    proposal.portable = false;
  }
  return operand;
}

std::string reduction(Random& random) {
  return random.pick<std::string>({"none", "none", "add", "mul", "max", "min"});
}

Proposal propose_elements(Random& random, const Operand& data, bool scatter) {
  Proposal proposal;
  const auto axis = random.between(0, static_cast<int64_t>(data.type.shape.size()) - 1);
  Shape shape = data.type.shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t most = static_cast<int64_t>(i) == axis ? 6 : shape[i];
    shape[i] = random.between(1, most);
  }
  proposal.attributes["axis"] = axis;
  const int64_t extent = data.type.shape[static_cast<size_t>(axis)];
  proposal.inputs = {data, indices(random, shape, extent, proposal)};
  if (scatter) {
    // Of duplicates ONNX leaves open which one stays; ours is the last.
    proposal.portable = false;
    proposal.attributes["reduction"] = reduction(random);
    proposal.inputs.push_back(Operand{{data.type.dtype, shape}, data.values});
  }
  return proposal;
}

Proposal propose_nd(Random& random, const Operand& data, bool scatter) {
  Proposal proposal;
  const auto rank = static_cast<int64_t>(data.type.shape.size());
  const int64_t batch = scatter ? 0 : random.pick<int64_t>({0, 0, std::min<int64_t>(1, rank - 1)});
  const int64_t depth = random.between(1, rank - batch);
  Shape shape(data.type.shape.begin(), data.type.shape.begin() + batch);
  shape.push_back(random.between(1, 5));
  shape.push_back(depth);
  const int64_t extent = *std::min_element(data.type.shape.begin(), data.type.shape.end());
  proposal.inputs = {data, indices(random, shape, extent, proposal)};
  if (!scatter) {
    proposal.attributes["batch_dims"] = batch;
    return proposal;
  }
  proposal.portable = false;
  proposal.attributes["reduction"] = reduction(random);
  Shape updates(shape.begin(), shape.end() - 1);
  updates.insert(updates.end(), data.type.shape.begin() + depth, data.type.shape.end());
  proposal.inputs.push_back(Operand{{data.type.dtype, updates}, data.values});
  return proposal;
}

Proposal propose_suppression(Random& random) {
  Proposal proposal;
  const int64_t batch = random.between(1, 2);
  const int64_t classes = random.between(1, 3);
  const int64_t boxes = random.between(1, 12);
  proposal.inputs.push_back(Operand{{DType::kFloat32, {batch, boxes, 4}}, Values::kPositive});
  proposal.inputs.push_back(Operand{{DType::kFloat32, {batch, classes, boxes}}, Values::kUnit});
  for (const double threshold : {0.4, 0.1}) {
    if (random.chance(0.3)) break;
    Operand operand{{DType::kFloat32, {}}, Values::kPlain, 1};
    operand.exact = std::vector<double>{threshold};
    proposal.inputs.push_back(operand);
  }
  proposal.attributes = {{"max_output", random.between(1, 14)},
                         {"center_point_box", int64_t{random.chance(0.5)}}};
  return proposal;
}

}  // namespace

Proposal propose_indexed(Random& random, OpKind kind) {
  const std::string_view name = to_string(kind);
  if (name == "NonMaxSuppression") return propose_suppression(random);
  Operand data{{random_dtype(random), random_shape(random, 1, 4)},
               random.chance(0.7) ? Values::kPlain : Values::kWide};
  if (name == "GatherElements") return propose_elements(random, data, false);
  if (name == "ScatterElements") return propose_elements(random, data, true);
  if (name == "GatherND") return propose_nd(random, data, false);
  if (name == "ScatterND") return propose_nd(random, data, true);
  Proposal proposal;
  const auto axis = random.between(0, static_cast<int64_t>(data.type.shape.size()) - 1);
  proposal.attributes["axis"] = axis;
  if (name == "CumSum") {
    proposal.attributes["exclusive"] = int64_t{random.chance(0.4)};
    proposal.attributes["reverse"] = int64_t{random.chance(0.4)};
    proposal.portable = is_float(data.type.dtype);
  } else {
    proposal.attributes["k"] = random.between(1, data.type.shape[static_cast<size_t>(axis)]);
    proposal.attributes["largest"] = int64_t{random.chance(0.5)};
  }
  proposal.inputs = {data};
  return proposal;
}

}  // namespace modeld::test
