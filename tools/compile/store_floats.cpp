#include "tools/compile/store_floats.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "runtime/program/infer.h"
#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

class Converter {
 public:
  Converter(Draft& draft, DType type) : draft_(draft), type_(type) {
    for (const TensorId id : draft.outputs) fixed_.insert(id);
    for (const DraftState& state : draft.states) fixed_.insert(state.next);
  }

  Status run();

 private:
  bool is_stored(DType dtype) const {
    return type_ == DType::kFloat64 ? is_float(dtype) && dtype != type_ : dtype == DType::kFloat32;
  }
  // `id` as the op being added reads it: itself, or its copy in the other type.
  Result<TensorId> converted(TensorId id, Phase phase);
  Result<TensorId> converted_constant(TensorId id);
  TensorId cast(TensorId id, DType to, Phase phase);
  Status add(Op op);
  Status add_unconverted(Op op, const std::vector<TensorId>& inputs);
  bool takes(const Op& op) const;

  Draft& draft_;
  DType type_;
  std::unordered_set<TensorId> fixed_;  // outputs and next states: their types are a promise
  std::unordered_map<TensorId, TensorId> copies_;
  std::unordered_map<TensorId, DType> changed_;  // intermediates, and what they were
  std::vector<Op> ops_;
};

TensorId Converter::cast(TensorId id, DType to, Phase phase) {
  Op op;
  op.kind = OpKind::kCast;
  op.name = draft_.tensors[id].name;
  op.inputs = {id};
  op.attributes.set("to", std::string(to_string(to)));
  op.phase = phase;
  op.outputs = {draft_.add_tensor({to, draft_.shape(id)}, draft_.tensors[id].name)};
  ops_.push_back(std::move(op));
  return ops_.back().outputs[0];
}

Result<TensorId> Converter::converted_constant(TensorId id) {
  const HostTensor& constant = *draft_.constant(id);
  const std::vector<double> values = to_doubles(constant);
  HostTensor stored = from_doubles({type_, constant.type.shape}, values);
  const std::vector<double> kept = to_doubles(stored);
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i]) || std::isfinite(kept[i])) continue;
    return Error(ErrorCode::kRefused, "constant '" + printable(draft_.tensors[id].name) +
                                          "' overflows " + std::string(to_string(type_)))
        .expecting("at most 65504", std::to_string(values[i]) + " at element " + std::to_string(i));
  }
  return draft_.add_constant(std::make_shared<const HostTensor>(std::move(stored)),
                             draft_.tensors[id].name);
}

Result<TensorId> Converter::converted(TensorId id, Phase phase) {
  if (id == kNoTensor || changed_.contains(id) || !is_stored(draft_.dtype(id))) return id;
  if (const auto known = copies_.find(id); known != copies_.end()) return known->second;
  TensorId copy = kNoTensor;
  if (draft_.constant(id) != nullptr) {
    MODELD_ASSIGN(copy, converted_constant(id));
  } else {
    copy = cast(id, type_, phase);
  }
  copies_[id] = copy;
  return copy;
}

// Whether the op infers, and gives the same shapes and only float types changed.
bool Converter::takes(const Op& op) const {
  std::vector<const TensorType*> types;
  for (const TensorId id : op.inputs) {
    types.push_back(id == kNoTensor ? nullptr : &draft_.type(id));
  }
  const auto inferred = infer_types(op.kind, op.attributes, types);
  if (!inferred.ok() || inferred->size() != op.outputs.size()) return false;
  for (size_t i = 0; i < inferred->size(); ++i) {
    const TensorType& was = draft_.type(op.outputs[i]);
    const DType wanted = is_stored(was.dtype) ? type_ : was.dtype;
    if ((*inferred)[i] != TensorType{wanted, was.shape}) return false;
  }
  return true;
}

// The op in its own types, between Casts.
Status Converter::add_unconverted(Op op, const std::vector<TensorId>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorId id = inputs[i];
    op.inputs[i] = id;
    // Read as it was written before this pass; an intermediate comes back from its new type.
    const auto was = changed_.find(id);
    if (was != changed_.end()) op.inputs[i] = cast(id, was->second, op.phase);
  }
  const std::vector<TensorId> outputs = op.outputs;
  const Phase phase = op.phase;
  ops_.push_back(std::move(op));
  for (const TensorId id : outputs) {
    if (fixed_.contains(id) || !is_stored(draft_.dtype(id))) continue;
    copies_[id] = cast(id, type_, phase);
  }
  return {};
}

Status Converter::add(Op op) {
  const std::vector<TensorId> inputs = op.inputs;
  if (op.kind == OpKind::kCast && is_stored(draft_.dtype(op.outputs[0]))) {
    op.attributes.set("to", std::string(to_string(type_)));
  }
  for (TensorId& id : op.inputs) {
    MODELD_ASSIGN(id, converted(id, op.phase));
  }
  if (!takes(op)) {
    if (op.kind == OpKind::kCast)
      op.attributes.set("to", std::string(to_string(draft_.dtype(op.outputs[0]))));
    return add_unconverted(std::move(op), inputs);
  }
  // What an output or next state promises is made of the new type behind the op.
  std::vector<std::pair<TensorId, TensorId>> promised;
  for (TensorId& id : op.outputs) {
    if (!is_stored(draft_.dtype(id))) continue;
    if (!fixed_.contains(id)) {
      changed_[id] = draft_.dtype(id);
      draft_.tensors[id].type.dtype = type_;
      continue;
    }
    const TensorId made = draft_.add_tensor({type_, draft_.shape(id)}, draft_.tensors[id].name);
    promised.emplace_back(made, id);
    copies_[id] = made;
    id = made;
  }
  const Phase phase = op.phase;
  ops_.push_back(std::move(op));
  for (const auto& [made, id] : promised) {
    const DType dtype = draft_.dtype(id);
    cast(made, dtype, phase);
    ops_.back().outputs = {id};
  }
  return {};
}

Status Converter::run() {
  std::vector<Op> before = std::move(draft_.ops);
  draft_.ops.clear();
  for (Op& op : before) MODELD_TRY(add(std::move(op)));
  draft_.ops = std::move(ops_);
  return {};
}

}  // namespace

Status store_floats(Draft& draft, DType type) {
  return Converter(draft, type).run();
}

}  // namespace modeld::compile
