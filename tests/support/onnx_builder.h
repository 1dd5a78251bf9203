// ONNX files made by tests, through the same generated classes that read them.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "runtime/reference/host_tensor.h"

namespace modeld::test {

using Names = std::vector<std::string>;

// ONNX's number of an element type.
int32_t onnx_number(DType dtype);
onnx::TensorProto tensor_proto(const std::string& name, const HostTensor& value);

// One node under construction; valid until the builder adds another.
class NodeBuilder {
 public:
  explicit NodeBuilder(onnx::NodeProto& node) : node_(node) {}
  NodeBuilder& named(const std::string& name);
  NodeBuilder& domain(const std::string& name);
  NodeBuilder& with(const std::string& name, int64_t value);
  NodeBuilder& with(const std::string& name, int value) { return with(name, int64_t{value}); }
  NodeBuilder& with(const std::string& name, float value);
  NodeBuilder& with(const std::string& name, const char* value);
  NodeBuilder& with(const std::string& name, std::vector<int64_t> values);
  NodeBuilder& with_floats(const std::string& name, std::vector<float> values);
  NodeBuilder& with_tensor(const std::string& name, const HostTensor& value);
  NodeBuilder& with_graph(const std::string& name);
  onnx::NodeProto& proto() { return node_; }

 private:
  onnx::AttributeProto& attribute(const std::string& name,
                                  onnx::AttributeProto::AttributeType type);
  onnx::NodeProto& node_;
};

// Extents of -1 become symbols. A graph in the order of the calls.
class OnnxBuilder {
 public:
  explicit OnnxBuilder(int64_t opset = 18);

  OnnxBuilder& input(const std::string& name, DType dtype, const Shape& shape);
  OnnxBuilder& output(const std::string& name);
  OnnxBuilder& constant(const std::string& name, const HostTensor& value);
  OnnxBuilder& floats(const std::string& name, Shape shape, std::initializer_list<double> values);
  OnnxBuilder& ints(const std::string& name, std::initializer_list<int64_t> values);
  NodeBuilder node(const std::string& op_type, const Names& inputs, const Names& outputs);
  OnnxBuilder& metadata(const std::string& key, const std::string& value);

  onnx::ModelProto& model() { return model_; }
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  std::string bytes() const { return model_.SerializeAsString(); }
  // Writes the file and answers its path.
  std::filesystem::path save(const std::filesystem::path& path) const;

 private:
  onnx::ModelProto model_;
};

}  // namespace modeld::test
