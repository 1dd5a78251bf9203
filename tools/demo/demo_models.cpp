#include "tools/demo/demo_models.h"

#include <string>

#include "runtime/artifact/artifact_writer.h"
#include "runtime/artifact/signing.h"
#include "tools/compile/compile.h"
#include "tools/feed/program_files.h"
#include "tools/samples/sample_network.h"

namespace modeld {
namespace {

Result<std::filesystem::path> make_model(samples::SampleKind kind, const std::string& pipeline,
                                         const SigningKey& key, const std::filesystem::path& folder,
                                         const std::function<void(std::string_view)>& tell,
                                         const std::function<bool()>& stop) {
  if (stop()) return Error(ErrorCode::kInterrupted, "interrupted");
  const std::string name(samples::to_string(kind));
  tell("making the " + name + " network");
  const std::filesystem::path onnx = folder / (name + ".onnx");
  MODELD_TRY(samples::write_sample(kind, onnx));
  tell("compiling and signing " + name + ".model");
  compile::CompileOptions options;
  MODELD_ASSIGN(options.pipeline, find_pipeline(pipeline));
  MODELD_ASSIGN(const auto compiled, compile::compile_onnx(onnx, options));
  const std::filesystem::path artifact = folder / (name + ".model");
  MODELD_TRY(write_artifact(artifact, compiled.model, &key));
  return artifact;
}

}  // namespace

Result<DemoModels> make_demo_models(const std::filesystem::path& folder,
                                    const std::function<void(std::string_view)>& tell,
                                    const std::function<bool()>& stop) {
  DemoModels models;
  MODELD_ASSIGN(const SigningKey key, SigningKey::generate());
  MODELD_ASSIGN(const PublicKey public_key, key.public_key());
  models.trust = folder / "demo.pub";
  MODELD_TRY(save_public_key(public_key, models.trust));
  MODELD_ASSIGN(models.driving,
                make_model(samples::SampleKind::kDriving, "driving.toml", key, folder, tell, stop));
  MODELD_ASSIGN(models.monitoring, make_model(samples::SampleKind::kMonitoring, "monitoring.toml",
                                              key, folder, tell, stop));
  return models;
}

}  // namespace modeld
