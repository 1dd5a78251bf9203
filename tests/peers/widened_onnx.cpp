#include "tests/peers/widened_onnx.h"

#include <onnx/onnx_pb.h>

#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>

#include "runtime/base/half.h"

namespace modeld::test {
namespace {

void widen(onnx::TensorProto& tensor) {
  if (tensor.data_type() != onnx::TensorProto::FLOAT16) return;
  std::string bytes = tensor.raw_data();
  if (bytes.empty()) {
    for (const int32_t value : tensor.int32_data()) {
      const auto bits = static_cast<uint16_t>(value);
      bytes.append(reinterpret_cast<const char*>(&bits), sizeof bits);
    }
  }
  std::string wide;
  for (size_t at = 0; at + 2 <= bytes.size(); at += 2) {
    uint16_t bits;
    std::memcpy(&bits, bytes.data() + at, sizeof bits);
    const float value = half_to_float(bits);
    wide.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.clear_int32_data();
  tensor.set_raw_data(wide);
}

void widen(onnx::ValueInfoProto& value) {
  auto& tensor = *value.mutable_type()->mutable_tensor_type();
  if (tensor.elem_type() == onnx::TensorProto::FLOAT16) {
    tensor.set_elem_type(onnx::TensorProto::FLOAT);
  }
}

}  // namespace

void write_widened(const std::filesystem::path& from, const std::filesystem::path& to) {
  onnx::ModelProto model;
  std::ifstream in(from, std::ios::binary);
  if (!model.ParseFromIstream(&in)) throw std::runtime_error("cannot parse " + from.string());
  onnx::GraphProto& graph = *model.mutable_graph();
  for (auto& tensor : *graph.mutable_initializer()) widen(tensor);
  for (auto& value : *graph.mutable_input()) widen(value);
  for (auto& value : *graph.mutable_output()) widen(value);
  for (auto& value : *graph.mutable_value_info()) widen(value);
  for (auto& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) widen(*attribute.mutable_t());
      if (node.op_type() == "Cast" && attribute.name() == "to" &&
          attribute.i() == onnx::TensorProto::FLOAT16) {
        attribute.set_i(onnx::TensorProto::FLOAT);
      }
    }
  }
  std::ofstream out(to, std::ios::binary);
  if (!model.SerializeToOstream(&out)) throw std::runtime_error("cannot write " + to.string());
}

}  // namespace modeld::test
