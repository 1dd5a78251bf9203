#include "tests/peers/our_run.h"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "runtime/device/backends.h"
#include "tests/support/must.h"
#include "tools/compile/compile.h"

namespace modeld::test {
namespace {

// The reference interpreter takes its time on a busy machine.
constexpr Nanoseconds kReplayDeadline = 300 * kSecond;

NpyType npy_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return NpyType::kF4;
    case DType::kFloat16:
      return NpyType::kF2;
    case DType::kUInt8:
      return NpyType::kU1;
    case DType::kInt64:
      return NpyType::kI8;
    default:
      throw std::runtime_error("output of an unexpected type");
  }
}

void stage_one(Capture& capture, size_t input, const NamedArrays& step) {
  const Slot& slot = capture.inputs()[input];
  const auto found = step.find(slot.name);
  if (found == step.end()) throw std::runtime_error("no value for input " + slot.name);
  const auto staging = capture.staging(input);
  if (staging.size() != found->second.bytes.size()) {
    throw std::runtime_error("input " + slot.name + " is of another size");
  }
  std::copy(found->second.bytes.begin(), found->second.bytes.end(), staging.begin());
}

NamedArrays outputs_of(const Capture& capture) {
  NamedArrays outputs;
  for (size_t i = 0; i < capture.outputs().size(); ++i) {
    const Slot& slot = capture.outputs()[i];
    NpyArray array{npy_type(slot.type.dtype), {}, {}};
    const auto bytes = capture.output(i);
    array.bytes.assign(bytes.begin(), bytes.end());
    outputs.emplace(slot.name, std::move(array));
  }
  return outputs;
}

}  // namespace

void stage(Capture& capture, const NamedArrays& step) {
  for (size_t i = 0; i < capture.inputs().size(); ++i) stage_one(capture, i, step);
}

Model compiled(const std::filesystem::path& onnx, const std::map<std::string, Shape>& shapes) {
  compile::CompileOptions options;
  options.input_shapes = shapes;
  options.make_references = false;
  return must(compile::compile_onnx(onnx, options)).model;
}

std::vector<NamedArrays> run_on(const std::string& backend, const Model& model,
                                const std::vector<NamedArrays>& steps) {
  const auto device = must(open_backend(backend));
  const auto capture = must(device->record(model.program, *model.weights, {}));
  std::vector<NamedArrays> outputs;
  for (const NamedArrays& step : steps) {
    stage(*capture, step);
    Submission* submission = must(capture->replay());
    must(submission->wait(Deadline::after(Clock::real(), kReplayDeadline)));
    outputs.push_back(outputs_of(*capture));
    must(capture->commit());
  }
  return outputs;
}

}  // namespace modeld::test
