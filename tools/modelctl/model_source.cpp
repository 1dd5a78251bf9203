#include "tools/modelctl/model_source.h"

#include "tools/compile/compile.h"
#include "tools/modelctl/input_shapes.h"
#include "tools/modelctl/progress.h"
#include "tools/modelctl/subcommand.h"

namespace modeld::modelctl {
namespace {

Result<LoadedModel> compile_in_memory(const ModelOptions& options, bool make_references) {
  compile::CompileOptions compile_options;
  if (!options.pipeline.empty()) compile_options.pipeline = options.pipeline;
  const auto precision = parse_precision(options.precision);
  if (!precision) {
    return Error(ErrorCode::kInvalidArgument, "--precision")
        .expecting("f32, bf16 or f16", options.precision);
  }
  compile_options.precision = *precision;
  compile_options.make_references = make_references;
  MODELD_ASSIGN(compile_options.input_shapes, parse_input_shapes(options.input_shapes));
  Progress progress;
  compile_options.progress = [&](std::string_view what, double fraction) {
    progress.show(what, fraction);
  };
  MODELD_ASSIGN(compile::CompiledModel compiled,
                compile::compile_onnx(options.path, compile_options));
  LoadedModel loaded;
  loaded.model = std::move(compiled.model);
  loaded.artifact = "compiled in memory";
  return loaded;
}

}  // namespace

void add_model_options(Subcommand& command, ModelOptions& options) {
  command.add_option("MODEL", options.path, "A .model file, or an .onnx file to compile in memory")
      .required();
  command.add_option("--trust", options.trust,
                     "Public key file, or folder of *.pub: refuse other and unsigned artifacts");
  command.add_option("--pipeline", options.pipeline, "Pipeline file for an .onnx file");
  command.add_option("--precision", options.precision, "For an .onnx file: f32, bf16 or f16")
      .with_default();
  add_input_shape_option(command, options.input_shapes);
}

Result<TrustPolicy> trust_policy(const std::string& trust) {
  TrustPolicy policy;
  if (trust.empty()) {
    policy.allow_unsigned = true;
    return policy;
  }
  MODELD_ASSIGN(TrustedKeys trusted, load_trusted_keys(trust));
  policy.keys = std::move(trusted.keys);
  policy.revoked = std::move(trusted.revoked);
  return policy;
}

Result<LoadedModel> load_model(const ModelOptions& options, bool make_references) {
  if (std::filesystem::path(options.path).extension() == ".onnx") {
    return compile_in_memory(options, make_references);
  }
  MODELD_ASSIGN(TrustPolicy policy, trust_policy(options.trust));
  policy.require_private_file = !options.trust.empty();
  MODELD_ASSIGN(const Artifact artifact, Artifact::open(options.path, policy));
  LoadedModel loaded;
  loaded.model = artifact.model();
  loaded.artifact = to_hex(artifact.digest());
  loaded.signature = artifact.signature();
  loaded.from_file = true;
  return loaded;
}

}  // namespace modeld::modelctl
