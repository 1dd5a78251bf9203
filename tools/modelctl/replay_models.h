// The models of a replay, from what the user named.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/modelctl/backend_options.h"
#include "tools/modelctl/model_source.h"
#include "tools/replay/role_player.h"

namespace modeld::modelctl {

struct ReplayModelOptions {
  std::vector<std::string> artifacts;
  std::vector<std::string> pipelines;  // of the .onnx files among them, in order
  std::string trust;
  std::string precision = "f32";
  std::string driver_seat = "left";
  BackendChoice backend;
};

void add_replay_model_options(Subcommand& command, ReplayModelOptions& options);

// Loaded and compiled once; each call gives models on freshly opened devices, so that one replay
// leaves nothing behind for the next. Without --artifact: those of the daemons' default
// configuration that are installed.
class ReplayModels {
 public:
  static Result<ReplayModels> load(const ReplayModelOptions& options);
  Result<std::vector<replay::ReplayModel>> open() const;
  // Digests and settings, joined: what a result depends on.
  std::string identity() const;

 private:
  BackendChoice backend_;
  DriverSeat driver_seat_ = DriverSeat::kLeft;
  std::vector<LoadedModel> loaded_;
};

}  // namespace modeld::modelctl
