#include "tools/compile/stage_inputs.h"

#include <algorithm>

#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

std::string label(const OnnxInput& input) {
  return "input '" + printable(input.name) + "'";
}

std::string declared(const OnnxInput& input) {
  std::string text(to_string(input.dtype));
  if (!input.ranked) return text + "[?]";
  text += "[";
  for (size_t i = 0; i < input.shape.size(); ++i) {
    if (i > 0) text += ",";
    text += input.shape[i] ? std::to_string(*input.shape[i]) : "?";
  }
  return text + "]";
}

bool fits(const OnnxInput& input, const TensorType& type) {
  if (type.dtype != input.dtype) return false;
  if (!input.ranked) return true;
  if (type.shape.size() != input.shape.size()) return false;
  for (size_t i = 0; i < type.shape.size(); ++i) {
    if (input.shape[i] && *input.shape[i] != type.shape[i]) return false;
  }
  return true;
}

}  // namespace

Result<TensorType> static_type(const OnnxInput& input) {
  TensorType type{input.dtype, {}};
  const Error dynamic =
      Error(ErrorCode::kUnsupported, label(input) + " has a dynamic shape")
          .expecting("fixed extents (the first may be open) or --input-shape", declared(input));
  if (!input.ranked) return dynamic;
  for (size_t axis = 0; axis < input.shape.size(); ++axis) {
    if (!input.shape[axis] && axis != 0) return dynamic;
    type.shape.push_back(input.shape[axis].value_or(1));
  }
  return type;
}

Status set_input_shapes(OnnxGraph& graph, const std::map<std::string, Shape>& shapes) {
  for (const auto& [name, shape] : shapes) {
    const auto input =
        std::find_if(graph.inputs.begin(), graph.inputs.end(),
                     [&name = name](const OnnxInput& each) { return each.name == name; });
    if (input == graph.inputs.end()) {
      return Error(ErrorCode::kInvalidArgument,
                   "no graph input '" + printable(name) + "' to give a shape");
    }
    const bool possible =
        std::all_of(shape.begin(), shape.end(), [](int64_t extent) { return extent >= 0; });
    if (!possible || !fits(*input, {input->dtype, shape})) {
      return Error(ErrorCode::kInvalidArgument, "the shape for " + label(*input) + " does not fit")
          .expecting(declared(*input), to_string(shape));
    }
    input->shape.assign(shape.begin(), shape.end());
    input->ranked = true;
  }
  return {};
}

Result<HostTensor> frozen_value(const OnnxInput& input, const FrozenInput& frozen) {
  const auto elements = checked_elements(frozen.type.shape);
  if (!fits(input, frozen.type) || !elements || size_of(frozen.type.dtype) == 0 ||
      frozen.bytes.size() / size_of(frozen.type.dtype) != static_cast<uint64_t>(*elements) ||
      frozen.bytes.size() % size_of(frozen.type.dtype) != 0) {
    return Error(ErrorCode::kInvalidArgument, "the value for " + label(input) + " does not fit")
        .expecting(declared(input), to_string(frozen.type) + " in " +
                                        std::to_string(frozen.bytes.size()) + " bytes");
  }
  return HostTensor{frozen.type, frozen.bytes};
}

}  // namespace modeld::compile
