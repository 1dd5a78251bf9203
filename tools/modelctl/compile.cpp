#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "runtime/artifact/artifact.h"
#include "runtime/artifact/artifact_writer.h"
#include "runtime/base/new_file.h"
#include "runtime/program/cost.h"
#include "tools/compile/compile.h"
#include "tools/modelctl/input_shapes.h"
#include "tools/modelctl/progress.h"
#include "tools/modelctl/report.h"
#include "tools/modelctl/subcommand.h"

namespace modeld::modelctl {
namespace {

struct Options {
  std::string onnx;
  std::string output;
  std::string pipeline;
  std::string weights;
  std::string precision = "f32";
  std::string sign;
  std::vector<std::string> input_shapes;
  bool explain = false;
  bool json = false;
};

Result<compile::CompiledModel> compile_file(const Options& options) {
  compile::CompileOptions compile_options;
  if (!options.pipeline.empty()) compile_options.pipeline = options.pipeline;
  if (!options.weights.empty()) compile_options.weights = options.weights;
  const auto precision = parse_precision(options.precision);
  if (!precision) {
    return Error(ErrorCode::kInvalidArgument, "--precision")
        .expecting("f32, bf16 or f16", options.precision);
  }
  compile_options.precision = *precision;
  MODELD_ASSIGN(compile_options.input_shapes, parse_input_shapes(options.input_shapes));
  Progress progress;
  compile_options.progress = [&](std::string_view what, double fraction) {
    progress.show(what, fraction);
  };
  return compile::compile_onnx(options.onnx, compile_options);
}

Json passes_json(const std::vector<compile::PassReport>& passes) {
  Json all = Json::array();
  for (const auto& pass : passes) {
    all.push_back({{"pass", pass.pass},
                   {"ops_before", pass.ops_before},
                   {"ops_after", pass.ops_after},
                   {"changes", pass.changes}});
  }
  return all;
}

Json errors_json(const std::vector<compile::SliceError>& errors) {
  Json all = Json::array();
  for (const auto& error : errors) {
    all.push_back({{"output", error.output},
                   {"slice", error.slice},
                   {"error", error.error},
                   {"bound", error.bound},
                   {"tolerance", error.tolerance}});
  }
  return all;
}

void explain(const compile::CompiledModel& compiled) {
  for (const auto& pass : compiled.passes) {
    std::printf("pass %s: %zu changes, %zu -> %zu ops\n", pass.pass.c_str(), pass.changes.size(),
                pass.ops_before, pass.ops_after);
    for (const std::string& change : pass.changes) std::printf("  %s\n", change.c_str());
  }
  std::printf("slices against the same network in double\n");
  for (const auto& error : compiled.errors) {
    std::printf("  %s / %s: off by %s, bound %s, devices may be off by %s\n", error.output.c_str(),
                error.slice.c_str(), format_number(error.error).c_str(),
                format_number(error.bound).c_str(), format_number(error.tolerance).c_str());
  }
}

void report(const Options& options, const compile::CompiledModel& compiled,
            const Artifact& artifact, double seconds) {
  const Program& program = compiled.model.program;
  const ProgramCost cost = program_cost(program);
  const std::string digest = to_hex(artifact.digest());
  const std::string signature = options.sign.empty() ? "unsigned" : "signed";
  if (options.json) {
    print_json({{"artifact", options.output},
                {"digest", digest},
                {"signature", signature},
                {"bytes", artifact.file_bytes()},
                {"ops", program.ops.size()},
                {"gmacs", static_cast<double>(cost.macs) / 1e9},
                {"weights_bytes", cost.constant_bytes},
                {"seconds", seconds},
                {"precision", to_string(compiled.model.contract.precision)},
                {"slices", errors_json(compiled.errors)},
                {"passes", passes_json(compiled.passes)}});
    return;
  }
  if (options.explain) explain(compiled);
  std::printf("wrote %s (%s, %s)\ndigest %s\n%zu ops, %s GMAC, weights %s, %.1f s\n",
              options.output.c_str(), format_bytes(artifact.file_bytes()).c_str(),
              signature.c_str(), digest.c_str(), program.ops.size(),
              format_number(static_cast<double>(cost.macs) / 1e9).c_str(),
              format_bytes(cost.constant_bytes).c_str(), seconds);
}

Status compile_and_write(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  // First what is quickly seen: it should not cost a compile.
  MODELD_TRY(check_new_file(options.output));
  std::optional<SigningKey> key;
  if (!options.sign.empty()) {
    MODELD_ASSIGN(key, SigningKey::load(options.sign));
  }
  MODELD_ASSIGN(const compile::CompiledModel compiled, compile_file(options));
  MODELD_TRY(write_artifact(options.output, compiled.model, key ? &*key : nullptr));
  const TrustPolicy any{.keys = {}, .allow_unsigned = true, .require_private_file = false};
  MODELD_ASSIGN(const Artifact artifact, Artifact::open(options.output, any));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  report(options, compiled, artifact, took.count());
  return {};
}

}  // namespace

void add_compile(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<Options>();
  Subcommand command(app, "compile", "Make an artifact of an ONNX network");
  command.add_option("ONNX", options->onnx, "The network").required();
  command.add_option("-o,--output", options->output, "The .model file to write").required();
  command.add_option("--pipeline", options->pipeline,
                     "TOML file: sources, scales, warps, history, stages, slices");
  command
      .add_option("--precision", options->precision,
                  "Storage of weights and intermediates: f32, bf16 or f16")
      .with_default();
  command.add_option("--weights", options->weights,
                     "safetensors file whose tensors replace the initializers of their names");
  add_input_shape_option(command, options->input_shapes);
  command.add_option("--sign", options->sign, "Private key to sign with");
  command.add_flag("--explain", options->explain,
                   "Show what every graph pass did, and what precision costs each slice");
  command.add_json_flag(options->json);
  command.set_example(
      "modelctl compile driving.onnx -o driving.model --pipeline driving.toml"
      " --sign release.key");
  command.set_action(chosen, [options] { return compile_and_write(*options); });
}

}  // namespace modeld::modelctl
