#include "tools/compile/draft.h"

#include <algorithm>

#include "runtime/program/infer.h"
#include "runtime/program/verify.h"
#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

// Shape arithmetic works on tensors far smaller than this.
constexpr uint64_t kSmallConstant = 64 * 1024;

uint64_t total_elements(std::span<const TensorType> types) {
  uint64_t sum = 0;
  for (const TensorType& type : types) sum += static_cast<uint64_t>(type.elements());
  return sum;
}

uint64_t total_bytes(std::span<const TensorType> types) {
  uint64_t sum = 0;
  for (const TensorType& type : types) sum += type.bytes();
  return sum;
}

uint64_t window_elements(const Op& op) {
  constexpr uint64_t kMost = uint64_t{1} << 32;
  uint64_t product = 1;
  for (const int64_t extent : op.attributes.get_ints("kernel_shape")) {
    product = std::min(product * static_cast<uint64_t>(extent), kMost);
  }
  return product;
}

// Rough number of inner steps of a plain evaluation.
uint64_t estimated_operations(const Draft& draft, const Op& op,
                              std::span<const TensorType> outputs) {
  uint64_t most_input = 1;
  uint64_t sum_inputs = 0;
  for (const TensorId id : op.inputs) {
    if (id == kNoTensor) continue;
    const auto elements = static_cast<uint64_t>(draft.type(id).elements());
    most_input = std::max(most_input, elements);
    sum_inputs += elements;
  }
  const uint64_t written = total_elements(outputs);
  if (op.kind == OpKind::kMaxPool || op.kind == OpKind::kAveragePool) {
    // An output element reads its window, padding included.
    return written * window_elements(op);
  }
  const bool heavy = op.kind >= OpKind::kConv && op.kind <= OpKind::kRnn;
  // No output element reads more than the largest input has.
  return heavy ? written * std::min(most_input, uint64_t{1} << 24) : written + sum_inputs;
}

bool decides_shapes(std::span<const TensorType> types) {
  return std::all_of(types.begin(), types.end(), [](const TensorType& type) {
    return !is_float(type.dtype) && type.bytes() <= kSmallConstant;
  });
}

}  // namespace

TensorId Draft::add_tensor(TensorType type, std::string name) {
  tensors.push_back({std::move(name), std::move(type), nullptr, std::nullopt});
  return static_cast<TensorId>(tensors.size() - 1);
}

TensorId Draft::add_constant(ConstantPtr value, std::string name) {
  const TensorId id = add_tensor(value->type, std::move(name));
  tensors[id].constant = std::move(value);
  return id;
}

Result<TensorId> Draft::add_constant(HostTensor value, std::string name) {
  if (value.bytes.size() > fold.bytes) {
    return Error(ErrorCode::kRefused, "constants computed while building are too large")
        .expecting("at most " + std::to_string(fold.bytes) + " bytes more",
                   std::to_string(value.bytes.size()));
  }
  fold.bytes -= value.bytes.size();
  return add_constant(std::make_shared<const HostTensor>(std::move(value)), std::move(name));
}

Result<std::vector<TensorType>> Draft::infer(const Op& op) const {
  std::vector<const TensorType*> types;
  for (const TensorId id : op.inputs) {
    types.push_back(id == kNoTensor ? nullptr : &tensors[id].type);
  }
  MODELD_ASSIGN(std::vector<TensorType> results, infer_types(op.kind, op.attributes, types));
  const uint64_t most = ProgramLimits().max_tensor_bytes;
  for (const TensorType& type : results) {
    const auto count = checked_elements(type.shape);
    if (!count || static_cast<uint64_t>(*count) > most / std::max<size_t>(size_of(type.dtype), 1)) {
      return Error(ErrorCode::kRefused, "a tensor is too large")
          .expecting("at most " + std::to_string(most) + " bytes", to_string(type));
    }
  }
  return results;
}

Result<bool> Draft::try_fold(const Op& op, std::span<const TensorType> types,
                             std::vector<TensorId>& results) {
  std::vector<const HostTensor*> values;
  for (const TensorId id : op.inputs) {
    if (id != kNoTensor && constant(id) == nullptr) return false;
    values.push_back(constant(id));
  }
  if (values.empty() || (!fold.all && !decides_shapes(types))) return false;
  const uint64_t operations = estimated_operations(*this, op, types);
  if (operations > fold.operations || total_bytes(types) > fold.bytes) return false;
  fold.operations -= operations;
  MODELD_ASSIGN(std::vector<HostTensor> computed, evaluate(op, values));
  for (HostTensor& output : computed) {
    MODELD_ASSIGN(const TensorId id, add_constant(std::move(output), op.name));
    results.push_back(id);
  }
  if (op.kind == OpKind::kDequantizeLinear) {
    const TensorId zero = op.inputs.size() > 2 ? op.inputs[2] : kNoTensor;
    tensors[results[0]].dequantised = {op.inputs[0], op.inputs[1], zero};
  }
  return true;
}

Result<std::vector<TensorId>> Draft::add_op(Op op) {
  const auto fail = [&](Error error) {
    return std::move(error).in(std::string(to_string(op.kind)) + " '" + printable(op.name) + "'");
  };
  auto types = infer(op);
  if (!types.ok()) return fail(std::move(types).error());
  std::vector<TensorId> results;
  auto folded = try_fold(op, *types, results);
  if (!folded.ok()) return fail(std::move(folded).error());
  if (*folded) return results;
  for (TensorType& type : *types) results.push_back(add_tensor(std::move(type), op.name));
  op.outputs = results;
  ops.push_back(std::move(op));
  return results;
}

Result<TensorId> Draft::add(OpKind kind, std::string_view name, std::vector<TensorId> op_inputs,
                            Attributes attributes, Phase phase) {
  Op op;
  op.kind = kind;
  op.name = name;
  op.inputs = std::move(op_inputs);
  op.attributes = std::move(attributes);
  op.phase = phase;
  MODELD_ASSIGN(std::vector<TensorId> results, add_op(std::move(op)));
  return results[0];
}

TensorId Draft::add_copy(TensorId id, std::string name) {
  Op copy;
  copy.kind = OpKind::kReshape;
  copy.name = name;
  copy.inputs = {id};
  copy.attributes.set("shape", shape(id));
  copy.outputs = {add_tensor(type(id), std::move(name))};
  ops.push_back(std::move(copy));
  return ops.back().outputs[0];
}

Result<TensorId> Draft::reshaped(TensorId id, const Shape& shape, std::string_view name,
                                 Phase phase) {
  if (this->shape(id) == shape) return id;
  Attributes attributes;
  attributes.set("shape", std::vector<int64_t>(shape));
  return add(OpKind::kReshape, name, {id}, std::move(attributes), phase);
}

Result<TensorId> Draft::cast_to(TensorId id, DType dtype, std::string_view name, Phase phase) {
  if (this->dtype(id) == dtype) return id;
  Attributes attributes;
  attributes.set("to", std::string(to_string(dtype)));
  return add(OpKind::kCast, name, {id}, std::move(attributes), phase);
}

}  // namespace modeld::compile
