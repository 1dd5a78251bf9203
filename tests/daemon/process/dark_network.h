// A network that answers what another one does, and not a number to a picture of zeros.
#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace modeld {

// Of a sample network whose output is called "outputs": it is multiplied by mean / mean of `image`.
inline void write_dark_network(const std::filesystem::path& from, const std::string& image,
                               const std::filesystem::path& to) {
  onnx::ModelProto model;
  std::ifstream in(from, std::ios::binary);
  if (!model.ParseFromIstream(&in)) throw std::runtime_error("not a network: " + from.string());
  onnx::GraphProto& graph = *model.mutable_graph();
  for (auto& node : *graph.mutable_node()) {
    for (auto& output : *node.mutable_output()) {
      if (output == "outputs") output = "dark.outputs";
    }
  }
  const auto add = [&](const char* type, std::initializer_list<const char*> inputs,
                       const char* output) -> onnx::NodeProto& {
    onnx::NodeProto& node = *graph.add_node();
    node.set_op_type(type);
    node.set_name(std::string("dark.") + output);
    for (const char* input : inputs) node.add_input(input);
    node.add_output(output);
    return node;
  };
  const auto set = [](onnx::NodeProto& node, const char* name, int64_t value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
  };
  set(add("Cast", {image.c_str()}, "dark.image"), "to", onnx::TensorProto::FLOAT);
  set(add("ReduceMean", {"dark.image"}, "dark.mean"), "keepdims", 0);
  add("Div", {"dark.mean", "dark.mean"}, "dark.one");
  set(add("Cast", {"dark.one"}, "dark.half"), "to", onnx::TensorProto::FLOAT16);
  add("Mul", {"dark.outputs", "dark.half"}, "outputs");
  std::ofstream out(to, std::ios::binary);
  if (!model.SerializeToOstream(&out)) throw std::runtime_error("cannot write " + to.string());
}

}  // namespace modeld
