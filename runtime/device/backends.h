// Opens backends by name. What exists depends on the build.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/device/device.h"

namespace modeld {

struct BackendOptions {
  uint32_t threads = 0;  // host threads; 0: the backend's choice
  // opencl: part of "platform: device name"; empty takes the best device there is.
  std::string device;
  // opencl: devices that compute on the host's processor (PoCL) are taken if there is nothing
  // better. A daemon says false unless its configuration asks for one.
  bool software_device = true;
  // opencl: folder in which built kernels are kept between starts; empty: nowhere.
  std::filesystem::path kernel_folder;
};

// Names this build can open: "reference", "cpu", "opencl".
std::vector<std::string> backend_names();

// kInvalidArgument with the list of names for an unknown one.
Result<std::unique_ptr<Device>> open_backend(std::string_view name,
                                             const BackendOptions& options = {});

}  // namespace modeld
