#include "tools/compile/compile.h"

#include <limits>

#include "runtime/program/verify.h"
#include "tools/compile/assemble.h"
#include "tools/compile/half_overflow.h"
#include "tools/compile/model_builder.h"
#include "tools/compile/passes/dead_code.h"
#include "tools/compile/passes/pass.h"
#include "tools/compile/passes/remove_noops.h"
#include "tools/compile/pipeline.h"
#include "tools/compile/reference_vectors.h"
#include "tools/compile/store_floats.h"
#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

void report(const CompileOptions& options, std::string_view what, double fraction) {
  if (options.progress) options.progress(what, fraction);
}

Result<Pipeline> pipeline_of(const std::filesystem::path& onnx, const CompileOptions& options) {
  if (!options.pipeline) return plain_pipeline(onnx);
  return read_pipeline(*options.pipeline);
}

Status run_passes(Draft& draft, std::span<const Pass> passes, std::vector<PassReport>& reports) {
  for (const Pass& pass : passes) {
    const size_t before = draft.ops.size();
    auto changes = pass.run(draft);
    if (!changes.ok()) {
      return std::move(changes).error().in("pass " + std::string(pass.name));
    }
    reports.push_back(
        {std::string(pass.name), before, draft.ops.size(), std::move(changes).value()});
  }
  return {};
}

OutputSlice slice_of(const NamedRange& range, const Pipeline& pipeline) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  OutputSlice slice{range.name, range.start, range.stop, -kInfinity, kInfinity, false, {}};
  if (const auto declared = pipeline.ranges.find(range.name); declared != pipeline.ranges.end()) {
    slice.minimum = declared->second.minimum;
    slice.maximum = declared->second.maximum;
  }
  return slice;
}

Contract contract_of(const BuiltModel& built, const Program& program, const Pipeline& pipeline,
                     const CompileOptions& options) {
  Contract contract;
  contract.name = pipeline.name;
  contract.role = pipeline.role;
  contract.source_sha256 = built.source_sha256;
  contract.opsets = built.opsets;
  contract.compiler_version = MODELD_VERSION;
  contract.checkpoint = built.checkpoint;
  contract.device_classes = pipeline.device_classes;
  contract.precision = options.precision;
  contract.inputs = built.inputs;
  contract.cameras = built.cameras;
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const Tensor& tensor = program.tensors[program.outputs[i]];
    OutputContract output{tensor.name, tensor.type, {}};
    for (const NamedRange& range : built.slices[i]) {
      output.slices.push_back(slice_of(range, pipeline));
    }
    contract.outputs.push_back(std::move(output));
  }
  for (const StateBinding& state : program.states) {
    contract.states.push_back({program.tensors[state.current].name, "start"});
  }
  return contract;
}

Status check_ranges_used(const Pipeline& pipeline, const Contract& contract) {
  for (const auto& [name, range] : pipeline.ranges) {
    bool used = false;
    for (const OutputContract& output : contract.outputs) {
      used = used || output.find_slice(name) != nullptr;
    }
    if (!used) {
      return Error(ErrorCode::kInvalidArgument,
                   "pipeline: a range for '" + printable(name) + "', which is no output slice");
    }
  }
  return {};
}

// Floats stored as `type`, and the Casts that turn out to be needless gone again.
Status store_as(Draft& draft, DType type) {
  MODELD_TRY(store_floats(draft, type));
  MODELD_TRY(remove_noops(draft));
  MODELD_TRY(remove_dead_code(draft));
  return {};
}

Status apply_precision(Draft& draft, Precision precision) {
  if (precision == Precision::kFloat32) return {};
  const bool half = precision == Precision::kFloat16;
  return store_as(draft, half ? DType::kFloat16 : DType::kBFloat16);
}

// Reference vectors and tolerances; `exact` is the network in double.
Result<std::vector<SliceError>> measure(Model& model, Draft exact) {
  MODELD_TRY(store_as(exact, DType::kFloat64));
  const AssembledProgram assembled = assemble(std::move(exact));
  MODELD_TRY(verify(assembled.program, assembled.weights->size()));
  if (model.contract.precision == Precision::kFloat16) MODELD_TRY(check_half_overflow(model));
  return add_references(model, {assembled.program, *assembled.weights});
}

Result<CompiledModel> compile_checked(const std::filesystem::path& onnx,
                                      const CompileOptions& options) {
  MODELD_ASSIGN(const Pipeline pipeline, pipeline_of(onnx, options));
  report(options, "reading and importing", 0);
  const BuildOptions build{options.pipeline.has_value(), options.optimise, &options.frozen_inputs,
                           &options.input_shapes, options.weights ? &*options.weights : nullptr};
  MODELD_ASSIGN(BuiltModel built, build_model(onnx, pipeline, build));
  CompiledModel compiled;
  if (options.optimise) {
    report(options, "optimising", 0.2);
    MODELD_TRY(run_passes(built.draft, default_passes(), compiled.passes));
  }
  Draft exact;
  if (options.make_references) exact = built.draft;
  MODELD_TRY(apply_precision(built.draft, options.precision));
  if (options.optimise) MODELD_TRY(run_passes(built.draft, last_passes(), compiled.passes));
  AssembledProgram assembled = assemble(std::move(built.draft));
  Model& model = compiled.model;
  model.program = std::move(assembled.program);
  model.weights = assembled.weights;
  model.contract = contract_of(built, model.program, pipeline, options);
  MODELD_TRY(check_ranges_used(pipeline, model.contract));
  MODELD_TRY(verify(model.program, model.weights->size()));
  if (options.make_references) {
    report(options, "running the reference interpreter", 0.4);
    MODELD_ASSIGN(compiled.errors, measure(model, std::move(exact)));
  }
  MODELD_TRY(check_contract(model.contract, model.program));
  report(options, "done", 1);
  return compiled;
}

}  // namespace

Result<CompiledModel> compile_onnx(const std::filesystem::path& onnx,
                                   const CompileOptions& options) {
  // Protobuf and the containers throw when memory runs out, which a hostile file can bring about.
  try {
    return compile_checked(onnx, options);
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::kExhausted, "not enough memory to compile this model");
  } catch (const std::exception& error) {
    return Error(ErrorCode::kInternal, std::string("the compiler failed: ") + error.what());
  }
}

}  // namespace modeld::compile
