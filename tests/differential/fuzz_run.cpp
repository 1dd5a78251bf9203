#include "tests/differential/fuzz_run.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "runtime/cpu/cpu_device.h"
#include "runtime/device/backends.h"
#include "runtime/selftest/self_test.h"
#include "tests/differential/closeness.h"
#include "tests/differential/onnx_of_program.h"
#include "tests/support/must.h"
#include "tools/compile/compile.h"

namespace modeld::test {
namespace {

std::string compare(const FuzzCase& made, const Answer& want, const Answer& have, double slack) {
  const Program& program = made.program.program();
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const Tensor& tensor = program.tensors[program.outputs[i]];
    const Closeness closeness = closeness_of(made, tensor.type.dtype, slack);
    const std::string off = difference(closeness, tensor.type, want.outputs[i], have.outputs[i]);
    if (!off.empty()) return "output " + tensor.name + ", " + off;
  }
  if (want.index_out_of_range != have.index_out_of_range) {
    return "index_out_of_range " + std::to_string(have.index_out_of_range) + " instead of " +
           std::to_string(want.index_out_of_range);
  }
  if (want.integer_division_by_zero != have.integer_division_by_zero) {
    return "integer_division_by_zero " + std::to_string(have.integer_division_by_zero) +
           " instead of " + std::to_string(want.integer_division_by_zero);
  }
  return "";
}

}  // namespace

Answer run_program(const std::string& backend, const Program& program, WeightSource& weights,
                   const std::vector<std::vector<std::byte>>& inputs, uint32_t threads) {
  const auto device = must(open_backend(backend));
  CaptureOptions options;
  options.threads = threads;
  const auto capture = must(device->record(program, weights, options));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto staging = capture->staging(i);
    if (staging.size() != inputs[i].size()) throw std::runtime_error("input of another size");
    std::copy(inputs[i].begin(), inputs[i].end(), staging.begin());
  }
  Submission* submission = must(capture->replay());
  must(submission->wait(Deadline::after(Clock::real(), 60 * kSecond)));
  Answer answer;
  answer.index_out_of_range = submission->report().index_out_of_range;
  answer.integer_division_by_zero = submission->report().integer_division_by_zero;
  for (size_t i = 0; i < capture->outputs().size(); ++i) {
    const auto bytes = capture->output(i);
    answer.outputs.emplace_back(bytes.begin(), bytes.end());
  }
  return answer;
}

Answer reference_answer(const FuzzCase& made) {
  MemoryWeights weights = made.program.weights();
  return run_program("reference", made.program.program(), weights, made.inputs, 1);
}

std::string check_cpu(const FuzzCase& made, const Answer& want) {
  MemoryWeights weights = made.program.weights();
  const auto threads = static_cast<uint32_t>(1 + made.id.seed % 3);
  const Answer have = run_program("cpu", made.program.program(), weights, made.inputs, threads);
  const std::string off = compare(made, want, have, 1);
  return off.empty() ? "" : "cpu with " + std::to_string(threads) + " threads: " + off;
}

std::string check_opencl(const FuzzCase& made, const Answer& want) {
  MemoryWeights weights = made.program.weights();
  const Answer have = run_program("opencl", made.program.program(), weights, made.inputs, 1);
  const std::string off = compare(made, want, have, 1);
  return off.empty() ? "" : "opencl: " + off;
}

std::string check_compiled(const FuzzCase& made, const Answer& want,
                           const std::filesystem::path& file, bool& written) {
  written = false;
  const auto onnx = onnx_of_program(made.program);
  if (!onnx) return "";
  onnx->save(file);
  compile::CompileOptions options;
  options.make_references = false;
  const auto compiled = compile::compile_onnx(file, options);
  if (!compiled.ok()) return "not compiled: " + to_string(compiled.error());
  written = true;
  const Model& model = compiled->model;
  // Passes may change roundings, which in a single op is nothing.
  for (const char* backend : {"reference", "cpu"}) {
    const Answer have = run_program(backend, model.program, *model.weights, made.inputs, 2);
    const std::string off = compare(made, want, have, 1);
    if (!off.empty()) return "compiled from ONNX, " + std::string(backend) + ": " + off;
  }
  return "";
}

std::string compare_op_by_op(const FuzzCase& made, const std::filesystem::path& file) {
  const auto onnx = onnx_of_program(made.program);
  if (!onnx) return "";
  onnx->save(file);
  compile::CompileOptions options;
  options.make_references = false;
  Model model = must(compile::compile_onnx(file, options)).model;
  Program& program = model.program;
  program.outputs.clear();
  for (const Op& op : program.ops) {
    program.outputs.insert(program.outputs.end(), op.outputs.begin(), op.outputs.end());
  }
  const Answer want = run_program("reference", program, *model.weights, made.inputs, 1);
  const Answer have = run_program("cpu", program, *model.weights, made.inputs, 2);
  std::string text;
  size_t output = 0;
  for (const Op& op : program.ops) {
    for (const TensorId id : op.outputs) {
      const Tensor& tensor = program.tensors[id];
      double most = 0;
      const auto a = to_doubles(tensor.type.dtype, want.outputs[output]);
      const auto b = to_doubles(tensor.type.dtype, have.outputs[output]);
      ++output;
      for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
      text += "  " + std::string(to_string(op.kind)) + " '" + tensor.name + "' " +
              to_string(tensor.type) + " off by " + std::to_string(most) + "\n";
    }
  }
  return text;
}

std::string lowering_of(const FuzzCase& made) {
  const auto device = must(open_backend("cpu"));
  MemoryWeights weights = made.program.weights();
  const auto capture = must(device->record(made.program.program(), weights, {}));
  std::string text;
  for (const CpuStep& step : cpu_steps(*capture)) {
    text += "  " + step.op + ": " + step.implementation + "\n";
  }
  return text;
}

std::string check_self_test(const FuzzCase& made, Precision precision,
                            const std::filesystem::path& file, bool& refused) {
  refused = false;
  const auto onnx = onnx_of_program(made.program);
  if (!onnx) return "";
  onnx->save(file);
  compile::CompileOptions options;
  options.precision = precision;
  const auto compiled = compile::compile_onnx(file, options);
  if (!compiled.ok()) {
    refused = compiled.error().code == ErrorCode::kRefused;
    return refused ? "" : to_string(compiled.error());
  }
  const auto device = must(open_backend("cpu"));
  SelfTestOptions test;
  test.repeats = 2;
  const SelfTestReport report = must(run_self_test(*device, compiled->model, test));
  return report.passed ? "" : describe_failure(report);
}

}  // namespace modeld::test
