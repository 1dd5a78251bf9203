#include "tests/support/onnx_builder.h"

#include <fstream>

#include "tests/support/program_builder.h"

namespace modeld::test {

int32_t onnx_number(DType dtype) {
  using Proto = onnx::TensorProto;
  switch (dtype) {
    case DType::kFloat32:
      return Proto::FLOAT;
    case DType::kFloat64:
      return Proto::DOUBLE;
    case DType::kFloat16:
      return Proto::FLOAT16;
    case DType::kBFloat16:
      return Proto::BFLOAT16;
    case DType::kInt8:
      return Proto::INT8;
    case DType::kUInt8:
      return Proto::UINT8;
    case DType::kInt16:
      return Proto::INT16;
    case DType::kUInt16:
      return Proto::UINT16;
    case DType::kInt32:
      return Proto::INT32;
    case DType::kUInt32:
      return Proto::UINT32;
    case DType::kInt64:
      return Proto::INT64;
    case DType::kUInt64:
      return Proto::UINT64;
    case DType::kBool:
      return Proto::BOOL;
    default:
      return Proto::UNDEFINED;
  }
}

onnx::TensorProto tensor_proto(const std::string& name, const HostTensor& value) {
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(onnx_number(value.type.dtype));
  for (const int64_t extent : value.type.shape) proto.add_dims(extent);
  proto.set_raw_data(
      std::string(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()));
  return proto;
}

onnx::AttributeProto& NodeBuilder::attribute(const std::string& name,
                                             onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& attribute = *node_.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

NodeBuilder& NodeBuilder::named(const std::string& name) {
  node_.set_name(name);
  return *this;
}

NodeBuilder& NodeBuilder::domain(const std::string& name) {
  node_.set_domain(name);
  return *this;
}

NodeBuilder& NodeBuilder::with(const std::string& name, int64_t value) {
  attribute(name, onnx::AttributeProto::INT).set_i(value);
  return *this;
}

NodeBuilder& NodeBuilder::with(const std::string& name, float value) {
  attribute(name, onnx::AttributeProto::FLOAT).set_f(value);
  return *this;
}

NodeBuilder& NodeBuilder::with(const std::string& name, const char* value) {
  attribute(name, onnx::AttributeProto::STRING).set_s(value);
  return *this;
}

NodeBuilder& NodeBuilder::with(const std::string& name, std::vector<int64_t> values) {
  auto& target = attribute(name, onnx::AttributeProto::INTS);
  for (const int64_t value : values) target.add_ints(value);
  return *this;
}

NodeBuilder& NodeBuilder::with_floats(const std::string& name, std::vector<float> values) {
  auto& target = attribute(name, onnx::AttributeProto::FLOATS);
  for (const float value : values) target.add_floats(value);
  return *this;
}

NodeBuilder& NodeBuilder::with_tensor(const std::string& name, const HostTensor& value) {
  *attribute(name, onnx::AttributeProto::TENSOR).mutable_t() = tensor_proto("", value);
  return *this;
}

NodeBuilder& NodeBuilder::with_graph(const std::string& name) {
  attribute(name, onnx::AttributeProto::GRAPH).mutable_g()->set_name("body");
  return *this;
}

OnnxBuilder::OnnxBuilder(int64_t opset) {
  model_.set_ir_version(8);
  auto& import = *model_.add_opset_import();
  import.set_domain("");
  import.set_version(opset);
  graph().set_name("test");
}

OnnxBuilder& OnnxBuilder::input(const std::string& name, DType dtype, const Shape& shape) {
  auto& value = *graph().add_input();
  value.set_name(name);
  auto& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx_number(dtype));
  type.mutable_shape();
  for (const int64_t extent : shape) {
    auto& dim = *type.mutable_shape()->add_dim();
    if (extent == -1) {
      dim.set_dim_param("N");
    } else {
      dim.set_dim_value(extent);
    }
  }
  return *this;
}

OnnxBuilder& OnnxBuilder::output(const std::string& name) {
  graph().add_output()->set_name(name);
  return *this;
}

OnnxBuilder& OnnxBuilder::constant(const std::string& name, const HostTensor& value) {
  *graph().add_initializer() = tensor_proto(name, value);
  return *this;
}

OnnxBuilder& OnnxBuilder::floats(const std::string& name, Shape shape,
                                 std::initializer_list<double> values) {
  return constant(name, make_tensor(DType::kFloat32, std::move(shape), values));
}

OnnxBuilder& OnnxBuilder::ints(const std::string& name, std::initializer_list<int64_t> values) {
  HostTensor tensor{{DType::kInt64, {static_cast<int64_t>(values.size())}}, {}};
  const auto bytes = std::as_bytes(std::span(values.begin(), values.size()));
  tensor.bytes.assign(bytes.begin(), bytes.end());
  return constant(name, tensor);
}

NodeBuilder OnnxBuilder::node(const std::string& op_type, const Names& inputs,
                              const Names& outputs) {
  onnx::NodeProto& node = *graph().add_node();
  node.set_op_type(op_type);
  for (const std::string& name : inputs) node.add_input(name);
  for (const std::string& name : outputs) node.add_output(name);
  return NodeBuilder(node);
}

OnnxBuilder& OnnxBuilder::metadata(const std::string& key, const std::string& value) {
  auto& entry = *model_.add_metadata_props();
  entry.set_key(key);
  entry.set_value(value);
  return *this;
}

std::filesystem::path OnnxBuilder::save(const std::filesystem::path& path) const {
  std::ofstream(path, std::ios::binary) << bytes();
  return path;
}

}  // namespace modeld::test
