#include "tools/samples/graph_builder.h"

#include <onnx/onnx_pb.h>

#include "runtime/base/half.h"

namespace modeld::samples {
namespace {

constexpr int64_t kIrVersion = 8;
constexpr int64_t kOpset = 17;

void set_type(onnx::ValueInfoProto& info, std::string_view name, Element element,
              const Dims& dims) {
  info.set_name(std::string(name));
  auto* tensor = info.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(static_cast<int>(element));
  for (const int64_t dim : dims) tensor->mutable_shape()->add_dim()->set_dim_value(dim);
}

void set_attribute(onnx::AttributeProto& attribute, int64_t value) {
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

void set_attribute(onnx::AttributeProto& attribute, const Dims& values) {
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const int64_t value : values) attribute.add_ints(value);
}

void set_attribute(onnx::AttributeProto& attribute, float value) {
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(value);
}

// ONNX raw_data is little endian whatever the machine.
void append_little_endian(std::string& bytes, uint64_t value, size_t width) {
  for (size_t i = 0; i < width; ++i) bytes.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

}  // namespace

GraphBuilder::GraphBuilder(std::string_view graph_name)
    : model_(std::make_unique<onnx::ModelProto>()) {
  model_->set_ir_version(kIrVersion);
  model_->set_producer_name("modeld sample");
  model_->mutable_graph()->set_name(std::string(graph_name));
  auto* opset = model_->add_opset_import();
  opset->set_domain("");
  opset->set_version(kOpset);
}

GraphBuilder::~GraphBuilder() = default;

Value GraphBuilder::input(std::string_view name, Element element, const Dims& dims) {
  set_type(*model_->mutable_graph()->add_input(), name, element, dims);
  return Value(name);
}

void GraphBuilder::output(std::string_view name, Element element, const Dims& dims) {
  set_type(*model_->mutable_graph()->add_output(), name, element, dims);
}

std::string GraphBuilder::numbered(std::string_view what) {
  const std::string name = scope_ + "/" + std::string(what);
  const int number = counts_[name]++;
  return number == 0 ? name : name + "_" + std::to_string(number);
}

onnx::NodeProto& GraphBuilder::add_node(std::string_view op_type, const std::vector<Value>& inputs,
                                        const NodeAttributes& attributes) {
  auto& node = *model_->mutable_graph()->add_node();
  node.set_name(numbered(op_type));
  node.set_op_type(std::string(op_type));
  for (const Value& value : inputs) node.add_input(value);
  for (const auto& [name, value] : attributes) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    std::visit([&](const auto& held) { set_attribute(attribute, held); }, value);
  }
  return node;
}

Value GraphBuilder::node(std::string_view op_type, std::vector<Value> inputs,
                         NodeAttributes attributes, std::string_view output) {
  auto& node = add_node(op_type, inputs, attributes);
  node.add_output(output.empty() ? node.name() + "_output_0" : std::string(output));
  return node.output(0);
}

std::vector<Value> GraphBuilder::node_with_outputs(std::string_view op_type,
                                                   std::vector<Value> inputs,
                                                   NodeAttributes attributes, size_t count) {
  auto& node = add_node(op_type, inputs, attributes);
  for (size_t i = 0; i < count; ++i) {
    node.add_output(node.name() + "_output_" + std::to_string(i));
  }
  return {node.output().begin(), node.output().end()};
}

Value GraphBuilder::weight(std::string_view name, const Dims& dims, std::span<const float> values) {
  auto& tensor = *model_->mutable_graph()->add_initializer();
  tensor.set_name(numbered(name));
  tensor.set_data_type(static_cast<int>(Element::kFloat16));
  for (const int64_t dim : dims) tensor.add_dims(dim);
  std::string bytes;
  bytes.reserve(values.size() * 2);
  for (const float value : values) append_little_endian(bytes, float_to_half(value), 2);
  tensor.set_raw_data(std::move(bytes));
  return tensor.name();
}

Value GraphBuilder::scalar(float value) {
  auto& known = scalars_[value];
  if (known.empty()) {
    const std::string scope = std::exchange(scope_, "/constants");
    known = weight("scalar", {}, std::span(&value, 1));
    scope_ = scope;
  }
  return known;
}

Value GraphBuilder::integers(const Dims& values) {
  auto& known = integer_lists_[values];
  if (!known.empty()) return known;
  const std::string scope = std::exchange(scope_, "/constants");
  auto& tensor = *model_->mutable_graph()->add_initializer();
  tensor.set_name(numbered("integers"));
  scope_ = scope;
  tensor.set_data_type(static_cast<int>(Element::kInt64));
  tensor.add_dims(static_cast<int64_t>(values.size()));
  std::string bytes;
  for (const int64_t value : values) append_little_endian(bytes, static_cast<uint64_t>(value), 8);
  tensor.set_raw_data(std::move(bytes));
  known = tensor.name();
  return known;
}

void GraphBuilder::metadata(std::string_view key, std::string_view value) {
  auto& entry = *model_->add_metadata_props();
  entry.set_key(std::string(key));
  entry.set_value(std::string(value));
}

std::string GraphBuilder::serialise() const {
  return model_->SerializeAsString();
}

Scope::Scope(GraphBuilder& graph, std::string_view name)
    : graph_(graph), outer_length_(graph.scope_.size()) {
  graph_.scope_.append("/").append(name);
}

Scope::~Scope() {
  graph_.scope_.resize(outer_length_);
}

}  // namespace modeld::samples
