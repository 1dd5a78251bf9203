#include "tools/compile/node_import.h"

#include <algorithm>

#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

// Shapes, axes and pads are short; a longer list is a mistake or an attack.
constexpr int64_t kMaxParameters = 4096;

}  // namespace

NodeImport::NodeImport(Draft& draft, const OnnxNode& node, int64_t opset,
                       std::vector<TensorId> inputs)
    : draft_(draft),
      node_(node),
      opset_(opset),
      inputs_(std::move(inputs)),
      outputs_(node.outputs.size(), kNoTensor),
      first_new_(static_cast<TensorId>(draft.tensors.size())) {
  // A left-out input at the end is the same as none.
  while (!inputs_.empty() && inputs_.back() == kNoTensor) inputs_.pop_back();
}

bool NodeImport::has_input(size_t index) const {
  return index < inputs_.size() && inputs_[index] != kNoTensor;
}

Status NodeImport::expect_inputs(size_t least, size_t most) const {
  const bool all_there =
      inputs_.size() >= least &&
      std::find(inputs_.begin(), inputs_.begin() + static_cast<std::ptrdiff_t>(least), kNoTensor) ==
          inputs_.begin() + static_cast<std::ptrdiff_t>(least);
  if (all_there && inputs_.size() <= most) return {};
  return refused("wrong number of inputs")
      .expecting(std::to_string(least) + ".." + std::to_string(most),
                 std::to_string(inputs_.size()));
}

bool NodeImport::wants_output(size_t index) const {
  return index < node_.outputs.size() && !node_.outputs[index].empty();
}

bool NodeImport::has_attribute(std::string_view name) const {
  return node_.attributes.find(name) != node_.attributes.end();
}

const OnnxAttribute* NodeImport::find(std::string_view name) {
  asked_.emplace(name);
  const auto found = node_.attributes.find(name);
  return found == node_.attributes.end() ? nullptr : &found->second;
}

template <typename T>
T NodeImport::get(std::string_view name, T otherwise) {
  const OnnxAttribute* value = find(name);
  if (value == nullptr) return otherwise;
  if (const T* typed = std::get_if<T>(value)) return *typed;
  attribute_error_ = refused("attribute '" + std::string(name) + "' is of another kind");
  return otherwise;
}

int64_t NodeImport::attr_int(std::string_view name, int64_t otherwise) {
  return get<int64_t>(name, otherwise);
}

double NodeImport::attr_float(std::string_view name, double otherwise) {
  if (!has_attribute(name)) return otherwise;
  return static_cast<double>(get<float>(name, 0));
}

std::string NodeImport::attr_string(std::string_view name, std::string_view otherwise) {
  return get<std::string>(name, std::string(otherwise));
}

std::vector<int64_t> NodeImport::attr_ints(std::string_view name) {
  return get<std::vector<int64_t>>(name, {});
}

std::vector<float> NodeImport::attr_floats(std::string_view name) {
  return get<std::vector<float>>(name, {});
}

std::vector<std::string> NodeImport::attr_strings(std::string_view name) {
  return get<std::vector<std::string>>(name, {});
}

ConstantPtr NodeImport::attr_tensor(std::string_view name) {
  return get<ConstantPtr>(name, nullptr);
}

Result<std::vector<int64_t>> NodeImport::constant_ints(size_t index, std::string_view what) const {
  const HostTensor* value = draft_.constant(input(index));
  if (value == nullptr) {
    return unsupported("'" + std::string(what) +
                       "' depends on run-time values (dynamic shapes are not supported)");
  }
  if (value->type.elements() > kMaxParameters) {
    return refused("'" + std::string(what) + "' has too many values");
  }
  const auto ints = to_ints(*value);
  if (!ints) {
    return refused("'" + std::string(what) + "' is not a list of integers")
        .expecting("integers", to_string(value->type));
  }
  return *ints;
}

Result<std::vector<double>> NodeImport::constant_doubles(size_t index,
                                                         std::string_view what) const {
  const HostTensor* value = draft_.constant(input(index));
  if (value == nullptr) {
    return unsupported("'" + std::string(what) + "' depends on run-time values");
  }
  if (value->type.elements() > kMaxParameters) {
    return refused("'" + std::string(what) + "' has too many values");
  }
  return to_doubles(*value);
}

Result<double> NodeImport::constant_scalar(size_t index, std::string_view what) const {
  MODELD_ASSIGN(const std::vector<double> values, constant_doubles(index, what));
  if (values.size() == 1) return values[0];
  return refused("'" + std::string(what) + "' is not one value")
      .expecting("1 element", std::to_string(values.size()));
}

Result<int64_t> NodeImport::resolve_axis(int64_t axis, int64_t rank) const {
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  return refused("axis out of range")
      .expecting(std::to_string(-rank) + ".." + std::to_string(rank - 1), std::to_string(axis));
}

Result<std::vector<int64_t>> NodeImport::resolve_axes(std::vector<int64_t> axes,
                                                      int64_t rank) const {
  for (int64_t& axis : axes) {
    MODELD_ASSIGN(axis, resolve_axis(axis, rank));
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
    return refused("an axis is named twice");
  }
  return axes;
}

Result<TensorId> NodeImport::emit(OpKind kind, std::vector<TensorId> op_inputs,
                                  Attributes attributes) {
  return draft_.add(kind, node_.name, std::move(op_inputs), std::move(attributes));
}

Status NodeImport::emit_output(OpKind kind, std::vector<TensorId> op_inputs,
                               Attributes attributes) {
  MODELD_ASSIGN(const TensorId id, emit(kind, std::move(op_inputs), std::move(attributes)));
  set_output(0, id);
  return {};
}

Result<TensorId> NodeImport::transpose(TensorId id, std::vector<int64_t> perm) {
  if (std::is_sorted(perm.begin(), perm.end())) return id;
  Attributes attributes;
  attributes.set("perm", std::move(perm));
  return emit(OpKind::kTranspose, {id}, std::move(attributes));
}

Result<TensorId> NodeImport::reduce(OpKind kind, TensorId id, std::vector<int64_t> axes) {
  Attributes attributes;
  attributes.set("axes", std::move(axes));
  attributes.set("keepdims", int64_t{1});
  return emit(kind, {id}, std::move(attributes));
}

Result<std::vector<TensorId>> NodeImport::emit_many(OpKind kind, std::vector<TensorId> op_inputs,
                                                    Attributes attributes) {
  Op op;
  op.kind = kind;
  op.name = node_.name;
  op.inputs = std::move(op_inputs);
  op.attributes = std::move(attributes);
  return draft_.add_op(std::move(op));
}

Result<TensorId> NodeImport::reshape(TensorId id, const Shape& shape) {
  return draft_.reshaped(id, shape, node_.name);
}

Result<TensorId> NodeImport::constant(HostTensor value) {
  return draft_.add_constant(std::move(value), node_.name);
}

Result<TensorId> NodeImport::numbers(const Shape& shape,
                                     const std::function<int64_t(int64_t)>& value) {
  const auto count = checked_elements(shape);
  if (!count || static_cast<uint64_t>(*count) > draft_.fold.bytes / sizeof(int64_t)) {
    return refused("a constant is too large").expecting("fewer elements", to_string(shape));
  }
  std::vector<int64_t> values(static_cast<size_t>(*count));
  for (int64_t i = 0; i < *count; ++i) values[static_cast<size_t>(i)] = value(i);
  HostTensor tensor = from_ints(values);
  tensor.type.shape = shape;
  return constant(std::move(tensor));
}

Result<TensorId> NodeImport::scalar_like(TensorId like, double value) {
  return constant(from_doubles({draft_.dtype(like), {}}, std::vector<double>{value}));
}

void NodeImport::set_output(size_t index, TensorId id) {
  if (index >= outputs_.size()) return;
  outputs_[index] = id;
  // Tensors get the names people know from their ONNX file; one passed on keeps its own.
  if (id >= first_new_ && wants_output(index)) draft_.tensors[id].name = node_.outputs[index];
}

Status NodeImport::finish() const {
  if (attribute_error_) return *attribute_error_;
  for (const auto& [name, value] : node_.attributes) {
    if (!asked_.contains(name)) {
      return unsupported("attribute '" + printable(name) + "' is not known for this op");
    }
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (wants_output(i) && outputs_[i] == kNoTensor) {
      return unsupported("output " + std::to_string(i) + " is not supported");
    }
  }
  return {};
}

}  // namespace modeld::compile
