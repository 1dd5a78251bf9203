// --backend and --threads, the same for every command that runs a model.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/device/backends.h"

namespace modeld::modelctl {

class Subcommand;

struct BackendChoice {
  std::string name = "cpu";
  uint32_t threads = 0;
  std::string kernels;  // folder
};

void add_backend_options(Subcommand& command, BackendChoice& choice);

Result<std::unique_ptr<Device>> open_device(const BackendChoice& choice);

}  // namespace modeld::modelctl
