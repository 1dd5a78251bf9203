#include "tools/modelctl/replay_models.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "config/daemon_config.h"
#include "tools/modelctl/subcommand.h"

namespace modeld::modelctl {
namespace {

std::vector<std::string> installed() {
  std::vector<std::string> paths;
  for (const DaemonKind kind : {DaemonKind::kModeld, DaemonKind::kDmonitoringmodeld}) {
    const std::filesystem::path path = default_config(kind).artifact.path;
    std::error_code failure;
    if (std::filesystem::exists(path, failure)) paths.push_back(path.string());
  }
  return paths;
}

}  // namespace

void add_replay_model_options(Subcommand& command, ReplayModelOptions& options) {
  command
      .add_option("--artifact,--model", options.artifacts,
                  "A .model file, or an .onnx file to compile in memory; once for each role"
                  " (default: what is installed)")
      .one_each_time();
  command
      .add_option("--pipeline", options.pipelines,
                  "Pipeline file of an .onnx file; as often as there are .onnx files")
      .one_each_time();
  command.add_option("--trust", options.trust,
                     "Public key file, or folder of *.pub: refuse other and unsigned artifacts");
  command.add_option("--precision", options.precision, "For .onnx files: f32, bf16 or f16")
      .with_default();
  command
      .add_option("--driver-seat", options.driver_seat,
                  "Where the driver sits, for monitoring networks that look at one seat")
      .one_of({"left", "right"})
      .with_default();
  add_backend_options(command, options.backend);
}

Result<ReplayModels> ReplayModels::load(const ReplayModelOptions& options) {
  ReplayModels models;
  models.backend_ = options.backend;
  models.driver_seat_ = options.driver_seat == "right" ? DriverSeat::kRight : DriverSeat::kLeft;
  const auto paths = options.artifacts.empty() ? installed() : options.artifacts;
  if (paths.empty()) {
    return Error(ErrorCode::kInvalidArgument, "no model to replay the route through")
        .expecting("--artifact A.model", "none given and none installed");
  }
  size_t pipelines = 0;
  for (const std::string& path : paths) {
    ModelOptions one;
    one.path = path;
    one.trust = options.trust;
    one.precision = options.precision;
    const bool onnx = std::filesystem::path(path).extension() == ".onnx";
    if (onnx && pipelines < options.pipelines.size()) one.pipeline = options.pipelines[pipelines++];
    MODELD_ASSIGN(auto loaded, load_model(one, /*make_references=*/false));
    models.loaded_.push_back(std::move(loaded));
  }
  if (pipelines < options.pipelines.size()) {
    return Error(ErrorCode::kInvalidArgument, "--pipeline")
        .expecting("one for each .onnx file at most",
                   std::to_string(options.pipelines.size()) + " for " + std::to_string(pipelines));
  }
  return models;
}

Result<std::vector<replay::ReplayModel>> ReplayModels::open() const {
  std::vector<replay::ReplayModel> models;
  for (const LoadedModel& loaded : loaded_) {
    MODELD_ASSIGN(auto device, open_device(backend_));
    models.push_back(
        {loaded.model, std::move(device), loaded.artifact, backend_.threads, driver_seat_});
  }
  return models;
}

std::string ReplayModels::identity() const {
  std::string text = backend_.name;
  if (driver_seat_ == DriverSeat::kRight) text += " right seat";
  for (const LoadedModel& loaded : loaded_) text += " " + loaded.artifact;
  return text;
}

}  // namespace modeld::modelctl
