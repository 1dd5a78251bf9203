#include "tests/differential/onnx_of_program.h"

#include <set>

#include "tools/compile/constant.h"

namespace modeld::test {
namespace {

constexpr int64_t kOpset = 20;  // the first with Gelu

using Ints = std::vector<int64_t>;

bool is_unsigned(DType dtype) {
  return !is_float(dtype) && to_string(dtype).front() == 'u';
}

class Exporter {
 public:
  explicit Exporter(const ProgramBuilder& program)
      : program_(program.program()), weights_(program.weights()), onnx_(kOpset) {}

  std::optional<OnnxBuilder> run();

 private:
  bool node(const Op& op);
  void attributes(NodeBuilder& node, const Op& op, const std::set<std::string>& except);
  std::string ints(const Ints& values);
  std::string floats(const std::vector<double>& values);
  std::string scalar(DType dtype, double value);
  const std::string& name(TensorId id) const { return program_.tensors[id].name; }
  std::string fresh() { return "p" + std::to_string(parameters_++); }

  const Program& program_;
  MemoryWeights weights_;
  OnnxBuilder onnx_;
  size_t parameters_ = 0;
};

std::string Exporter::ints(const Ints& values) {
  const std::string name = fresh();
  HostTensor tensor = compile::from_ints(values);
  onnx_.constant(name, tensor);
  return name;
}

std::string Exporter::floats(const std::vector<double>& values) {
  const std::string name = fresh();
  onnx_.constant(name, make_tensor(DType::kFloat32, {static_cast<int64_t>(values.size())}, values));
  return name;
}

std::string Exporter::scalar(DType dtype, double value) {
  const std::string name = fresh();
  onnx_.constant(name, make_tensor(dtype, {}, {value}));
  return name;
}

void Exporter::attributes(NodeBuilder& node, const Op& op, const std::set<std::string>& except) {
  static const std::map<std::string, std::string> kOtherNames = {{"trans_a", "transA"},
                                                                 {"trans_b", "transB"}};
  for (const auto& [key, value] : op.attributes.map()) {
    if (except.contains(key)) continue;
    const auto renamed = kOtherNames.find(key);
    const std::string& called = renamed == kOtherNames.end() ? key : renamed->second;
    if (const auto* v = std::get_if<int64_t>(&value)) node.with(called, *v);
    if (const auto* v = std::get_if<double>(&value)) node.with(called, static_cast<float>(*v));
    if (const auto* v = std::get_if<std::string>(&value)) node.with(called, v->c_str());
    if (const auto* v = std::get_if<Ints>(&value)) node.with(called, *v);
  }
}

bool Exporter::node(const Op& op) {
  using enum OpKind;
  if (op.attributes.has("activation")) return false;
  if ((op.kind == kConv || op.kind == kGemm) && op.inputs.size() > 3) return false;
  if (op.kind == kMatMul && op.inputs.size() > 2) return false;
  std::string type(to_string(op.kind));
  for (const char* unlike : {"RNN", "GRU", "LSTM", "NonMaxSuppression", "RMSNormalization"}) {
    if (type == unlike) return false;
  }
  if (type == "LayerNormalization" && op.inputs.size() < 2) return false;
  if (op.attributes.has("indices")) return false;
  Names inputs, outputs;
  for (const TensorId id : op.inputs) inputs.push_back(id == kNoTensor ? "" : name(id));
  for (const TensorId id : op.outputs) outputs.push_back(name(id));
  const DType dtype = program_.tensors[op.inputs[0]].type.dtype;
  std::set<std::string> moved;
  const auto take = [&](const char* attribute) {
    moved.insert(attribute);
    return op.attributes.get_ints(attribute);
  };
  switch (op.kind) {
    case kSilu:
      onnx_.node("Sigmoid", inputs, {outputs[0] + "_s"});
      onnx_.node("Mul", {inputs[0], outputs[0] + "_s"}, outputs);
      return true;
    case kClip: {
      moved = {"min", "max"};
      const auto bound = [&](const char* name) {
        const double value = op.attributes.get_float(name);
        const bool none = !op.attributes.has(name) || (is_unsigned(dtype) && value < 0);
        inputs.push_back(none ? "" : scalar(dtype, value));
      };
      bound("min");
      bound("max");
      break;
    }
    case kExpand:
    case kReshape:
      inputs.push_back(ints(take("shape")));
      break;
    case kTile:
      inputs.push_back(ints(take("repeats")));
      break;
    case kSplit:
      inputs.push_back(ints(take("split")));
      break;
    case kPad:
      inputs.push_back(ints(take("pads")));
      moved.insert("value");
      if (op.attributes.has("value")) {
        inputs.push_back(scalar(dtype, op.attributes.get_float("value")));
      }
      break;
    case kSlice: {
      const Ints starts = take("starts"), steps = take("steps"), sizes = take("sizes");
      Ints ends, axes;
      for (size_t i = 0; i < starts.size(); ++i) {
        const int64_t end = starts[i] + steps[i] * sizes[i];
        // Behind the first element when going down: a number no axis reaches.
        ends.push_back(end < 0 ? -1000000 : end);
        axes.push_back(static_cast<int64_t>(i));
      }
      for (const Ints& values : {starts, ends, axes, steps}) inputs.push_back(ints(values));
      break;
    }
    case kReduceL1:
    case kReduceL2:
    case kReduceMax:
    case kReduceMean:
    case kReduceMin:
    case kReduceProd:
    case kReduceSum:
    case kReduceSumSquare: {
      const Ints axes = take("axes");
      inputs.push_back(ints(axes));
      auto built = onnx_.node(type, inputs, outputs);
      attributes(built, op, moved);
      if (axes.empty()) built.with("noop_with_empty_axes", 1);
      return true;
    }
    case kResize: {
      moved = {"scales", "sizes", "roi"};
      const auto roi = op.attributes.get_floats("roi");
      inputs.push_back(roi.empty() ? "" : floats(roi));
      inputs.push_back(floats(op.attributes.get_floats("scales")));
      break;
    }
    case kCast: {
      auto built = onnx_.node(type, inputs, outputs);
      built.with("to", onnx_number(program_.tensors[op.outputs[0]].type.dtype));
      return true;
    }
    default:
      break;
  }
  if (type == "CumSum") {
    const std::string axis = fresh();
    onnx_.constant(
        axis, make_tensor(DType::kInt64, {}, {static_cast<double>(op.attributes.get_int("axis"))}));
    inputs.push_back(axis);
    moved.insert("axis");
  } else if (type == "TopK") {
    inputs.push_back(ints({op.attributes.get_int("k")}));
    moved.insert("k");
  } else if (type == "ReduceLogSumExp") {
    const Ints axes = take("axes");
    if (axes.empty()) return false;
    inputs.push_back(ints(axes));
  } else if (type == "QuantizeLinear" || type == "DequantizeLinear") {
    const std::string to = op.attributes.get_string("to");
    // Without a zero point the result is u8.
    if (type == "QuantizeLinear" && inputs.size() < 3 && to != "u8") return false;
    moved.insert("to");
  }
  auto built = onnx_.node(type, inputs, outputs);
  attributes(built, op, moved);
  return true;
}

std::optional<OnnxBuilder> Exporter::run() {
  onnx_.model().set_ir_version(9);
  for (const TensorId id : program_.inputs) {
    onnx_.input(name(id), program_.tensors[id].type.dtype, program_.tensors[id].type.shape);
  }
  for (const Tensor& tensor : program_.tensors) {
    if (!tensor.is_constant()) continue;
    HostTensor value{tensor.type, std::vector<std::byte>(tensor.type.bytes())};
    if (!weights_.read(tensor.weight->offset, value.bytes).ok()) return std::nullopt;
    onnx_.constant(tensor.name, value);
  }
  for (const Op& op : program_.ops) {
    if (!node(op)) return std::nullopt;
  }
  for (const TensorId id : program_.outputs) {
    const TensorType& type = program_.tensors[id].type;
    onnx::ValueInfoProto& output = *onnx_.graph().add_output();
    output.set_name(name(id));
    auto& proto = *output.mutable_type()->mutable_tensor_type();
    proto.set_elem_type(onnx_number(type.dtype));
    proto.mutable_shape();
    for (const int64_t extent : type.shape) proto.mutable_shape()->add_dim()->set_dim_value(extent);
  }
  return std::move(onnx_);
}

}  // namespace

std::optional<OnnxBuilder> onnx_of_program(const ProgramBuilder& program) {
  return Exporter(program).run();
}

}  // namespace modeld::test
