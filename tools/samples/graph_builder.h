// Writes an ONNX graph node by node, the way exporters do.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace onnx {
class ModelProto;
class NodeProto;
}  // namespace onnx

namespace modeld::samples {

using Dims = std::vector<int64_t>;
using AttributeValue = std::variant<int64_t, Dims, float>;
using NodeAttributes = std::vector<std::pair<std::string, AttributeValue>>;

// The name of a tensor of the graph.
using Value = std::string;

// Numbers of onnx::TensorProto::DataType.
enum class Element : int { kFloat32 = 1, kUint8 = 2, kInt64 = 7, kFloat16 = 10 };

// IR version 8, opset 17. One owner builds one graph, then serialises it; the same calls give the
// same bytes. Nodes and weights are named by the scope they are added in ("/trunk/stem/Conv_0").
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string_view graph_name);
  ~GraphBuilder();
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  Value input(std::string_view name, Element element, const Dims& dims);
  void output(std::string_view name, Element element, const Dims& dims);

  // Adds a node with one output, named `output` or after the node.
  Value node(std::string_view op_type, std::vector<Value> inputs, NodeAttributes attributes = {},
             std::string_view output = {});
  // Adds a node with `count` outputs.
  std::vector<Value> node_with_outputs(std::string_view op_type, std::vector<Value> inputs,
                                       NodeAttributes attributes, size_t count);

  // Constants. Floats are stored as float16; equal scalars and integer lists are stored once.
  Value weight(std::string_view name, const Dims& dims, std::span<const float> values);
  Value scalar(float value);
  Value integers(const Dims& values);

  void metadata(std::string_view key, std::string_view value);

  std::string serialise() const;

 private:
  friend class Scope;
  onnx::NodeProto& add_node(std::string_view op_type, const std::vector<Value>& inputs,
                            const NodeAttributes& attributes);
  std::string numbered(std::string_view what);

  std::unique_ptr<onnx::ModelProto> model_;
  std::string scope_;
  std::map<std::string, int> counts_;  // of names used so far
  std::map<float, Value> scalars_;
  std::map<Dims, Value> integer_lists_;
};

// Everything added while it lives is named below `name`.
class Scope {
 public:
  Scope(GraphBuilder& graph, std::string_view name);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  GraphBuilder& graph_;
  size_t outer_length_;
};

}  // namespace modeld::samples
