#include "runtime/program/expand.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "runtime/program/infer.h"
#include "runtime/program/pointwise_body.h"

namespace modeld {
namespace {

Error wrong(OpKind kind, std::string what, std::string want, std::string have) {
  return Error(ErrorCode::kRefused, std::string(to_string(kind)) + ": " + std::move(what))
      .expecting(std::move(want), std::move(have));
}

// Builds an expansion op by op, inferring types as it goes.
class Builder {
 public:
  explicit Builder(std::span<const TensorType* const> inputs) : inputs_(inputs) {}

  Result<uint32_t> add(InnerOp op) {
    std::vector<const TensorType*> types;
    for (const uint32_t operand : op.operands) {
      types.push_back(operand == kNoTensor ? nullptr : type(operand));
    }
    MODELD_ASSIGN(std::vector<TensorType> inferred, infer_types(op.kind, op.attributes, types));
    made_.ops.push_back(std::move(op));
    made_.types.push_back(std::move(inferred[0]));
    return static_cast<uint32_t>(inputs_.size() + made_.ops.size() - 1);
  }

  // Null for an input that is left out.
  const TensorType* type(uint32_t operand) const {
    return operand < inputs_.size() ? inputs_[operand] : &made_.types[operand - inputs_.size()];
  }

  Expansion finish() && { return std::move(made_); }
  Expansion& made() { return made_; }

 private:
  std::span<const TensorType* const> inputs_;
  Expansion made_;
};

Result<Expansion> attention(const Attributes& attributes,
                            std::span<const TensorType* const> inputs) {
  Builder builder(inputs);
  const auto transposed = [&](uint32_t id, std::string_view name) -> Result<uint32_t> {
    if (!attributes.has(name)) return id;
    InnerOp op{OpKind::kTranspose, {}, {id}};
    op.attributes.set("perm", attributes.get_ints(name));
    return builder.add(std::move(op));
  };
  const auto given = [&](size_t input) {
    return inputs.size() > input && inputs[input] != nullptr;
  };
  for (uint32_t i = 0; i < 3; ++i) {
    if (inputs[i]->shape.size() >= 2 && is_float(inputs[i]->dtype)) continue;
    return wrong(OpKind::kAttention, "input " + std::to_string(i), "floats of rank 2 or more",
                 to_string(*inputs[i]));
  }
  if (given(3) && inputs[3]->elements() != 1) {
    return wrong(OpKind::kAttention, "input 3", "one number", to_string(*inputs[3]));
  }
  MODELD_ASSIGN(uint32_t query, transposed(0, "q_perm"));
  if (given(3)) {
    const TensorType before = *builder.type(query);
    MODELD_ASSIGN(query, builder.add({OpKind::kMul, {}, {query, 3}}));
    if (*builder.type(query) != before) {
      return wrong(OpKind::kAttention, "input 3", "a number of no higher rank than the queries",
                   to_string(*inputs[3]));
    }
  }
  MODELD_ASSIGN(const uint32_t key, transposed(1, "k_perm"));
  MODELD_ASSIGN(const uint32_t value, transposed(2, "v_perm"));
  MODELD_ASSIGN(uint32_t scores, builder.add({OpKind::kMatMul, {}, {query, key}}));
  const TensorType before = *builder.type(scores);
  if (given(4)) {
    MODELD_ASSIGN(scores, builder.add({OpKind::kAdd, {}, {scores, 4}}));
    if (*builder.type(scores) != before) {
      return wrong(OpKind::kAttention, "input 4",
                   "a shape that broadcasts to " + to_string(before.shape), to_string(*inputs[4]));
    }
  }
  InnerOp softmax{OpKind::kSoftmax, {}, {scores}};
  softmax.attributes.set("axis", static_cast<int64_t>(before.shape.size()) - 1);
  MODELD_ASSIGN(const uint32_t shares, builder.add(std::move(softmax)));
  MODELD_ASSIGN(uint32_t mixed, builder.add({OpKind::kMatMul, {}, {shares, value}}));
  MODELD_ASSIGN(mixed, transposed(mixed, "y_perm"));
  builder.made().results = {static_cast<uint32_t>(builder.made().ops.size() - 1)};
  return std::move(builder).finish();
}

Result<Expansion> pointwise(const Attributes& attributes,
                            std::span<const TensorType* const> inputs) {
  MODELD_ASSIGN(Expansion body, decode_body(attributes, inputs.size()));
  Builder builder(inputs);
  for (InnerOp& op : body.ops) {
    MODELD_ASSIGN(const uint32_t id, builder.add(std::move(op)));
    const Shape& shape = builder.made().types[0].shape;
    if (builder.type(id)->shape == shape) continue;
    return wrong(OpKind::kPointwise, "a result's shape", to_string(shape),
                 to_string(*builder.type(id)));
  }
  builder.made().results = std::move(body.results);
  return std::move(builder).finish();
}

// Puts the expansion of `op` in its place.
void append_expansion(Program& program, const Op& op, const Expansion& expansion) {
  std::vector<TensorId> ids = op.inputs;
  for (uint32_t i = 0; i < expansion.ops.size(); ++i) {
    const auto at = std::find(expansion.results.begin(), expansion.results.end(), i);
    if (at != expansion.results.end()) {
      ids.push_back(op.outputs[static_cast<size_t>(at - expansion.results.begin())]);
      continue;
    }
    ids.push_back(static_cast<TensorId>(program.tensors.size()));
    const std::string name = program.tensors[op.outputs[0]].name + "#" + std::to_string(i);
    program.tensors.push_back({name, expansion.types[i], std::nullopt});
  }
  for (uint32_t i = 0; i < expansion.ops.size(); ++i) {
    const InnerOp& inner = expansion.ops[i];
    Op made;
    made.kind = inner.kind;
    made.name = op.name;
    made.attributes = inner.attributes;
    made.phase = op.phase;
    for (const uint32_t operand : inner.operands) {
      made.inputs.push_back(operand == kNoTensor ? kNoTensor : ids[operand]);
    }
    made.outputs = {ids[op.inputs.size() + i]};
    program.ops.push_back(std::move(made));
  }
}

}  // namespace

bool is_compound(OpKind kind) {
  return kind == OpKind::kAttention || kind == OpKind::kPointwise;
}

Result<Expansion> expansion_of(OpKind kind, const Attributes& attributes,
                               std::span<const TensorType* const> inputs) {
  assert(is_compound(kind));
  return kind == OpKind::kAttention ? attention(attributes, inputs) : pointwise(attributes, inputs);
}

Expansion expansion_of(const Program& program, const Op& op) {
  std::vector<const TensorType*> types;
  for (const TensorId id : op.inputs) {
    types.push_back(id == kNoTensor ? nullptr : &program.tensors[id].type);
  }
  auto made = expansion_of(op.kind, op.attributes, types);
  assert(made.ok());
  return std::move(made).value();
}

Program expanded(const Program& program, const std::function<bool(const Op&)>& keep) {
  Program result = program;
  result.ops.clear();
  for (const Op& op : program.ops) {
    if (!is_compound(op.kind) || keep(op)) {
      result.ops.push_back(op);
    } else {
      append_expansion(result, op, expansion_of(program, op));
    }
  }
  return result;
}

}  // namespace modeld
