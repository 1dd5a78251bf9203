#include "tools/modelctl/conformance_run.h"

#include <algorithm>

#include "runtime/base/clock.h"
#include "tools/modelctl/conformance_case.h"

namespace modeld::modelctl {
namespace {

constexpr Nanoseconds kReplayDeadline = 60 * kSecond;

CaseResult failed(const std::string& name, const Error& error) {
  const bool unsupported = error.code == ErrorCode::kUnsupported;
  return {name, unsupported ? Verdict::kUnsupported : Verdict::kFailed, to_string(error)};
}

Status stage_inputs(Capture& capture, const ConformanceData& data) {
  for (size_t i = 0; i < capture.inputs().size(); ++i) {
    const Slot& slot = capture.inputs()[i];
    const auto given = data.inputs.find(slot.name);
    if (given == data.inputs.end() || given->second.type != slot.type) {
      return Error(ErrorCode::kCheckFailed, "input '" + slot.name + "'")
          .expecting(to_string(slot.type),
                     given == data.inputs.end() ? "none" : to_string(given->second.type));
    }
    const auto& bytes = given->second.bytes;
    std::copy(bytes.begin(), bytes.end(), capture.staging(i).begin());
  }
  return {};
}

Status compare_outputs(const Capture& capture, const ConformanceCase& test,
                       const ConformanceData& data) {
  if (capture.outputs().size() != data.outputs.size()) {
    return Error(ErrorCode::kCheckFailed, "number of outputs")
        .expecting(std::to_string(data.outputs.size()), std::to_string(capture.outputs().size()));
  }
  for (size_t i = 0; i < data.outputs.size(); ++i) {
    if (!data.outputs[i]) continue;
    const std::string wrong =
        difference(*data.outputs[i], capture.outputs()[i].type, capture.output(i));
    if (!wrong.empty()) {
      return Error(ErrorCode::kCheckFailed, "output '" + test.outputs[i] + "': " + wrong);
    }
  }
  return {};
}

Status run_data(Device& device, const ConformanceCase& test, const ConformanceData& data,
                bool optimise) {
  compile::CompileOptions options;
  options.frozen_inputs = frozen_inputs(test, data);
  options.make_references = false;
  options.optimise = optimise;
  MODELD_ASSIGN(const compile::CompiledModel compiled, compile::compile_onnx(test.model, options));
  const Model& model = compiled.model;
  MODELD_ASSIGN(const auto capture, device.record(model.program, *model.weights, {}));
  MODELD_TRY(stage_inputs(*capture, data));
  MODELD_ASSIGN(Submission * submission, capture->replay());
  MODELD_TRY(submission->wait(Deadline::after(Clock::real(), kReplayDeadline)));
  return compare_outputs(*capture, test, data);
}

}  // namespace

CaseResult run_case(Device& device, const std::filesystem::path& root, const std::string& name,
                    bool optimise) {
  const auto test = read_case(root, name);
  if (!test.ok()) return failed(name, test.error());
  if (test->data.empty()) return {name, Verdict::kFailed, "no test_data_set_0"};
  for (const ConformanceData& data : test->data) {
    const Status status = run_data(device, *test, data, optimise);
    if (!status.ok()) return failed(name, status.error());
  }
  return {name, Verdict::kPassed, ""};
}

}  // namespace modeld::modelctl
