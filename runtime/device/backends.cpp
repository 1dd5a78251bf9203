#include "runtime/device/backends.h"

#include <array>

#include "runtime/cpu/cpu_device.h"
#include "runtime/opencl/opencl_device.h"
#include "runtime/reference/reference_device.h"

namespace modeld {
namespace {

struct Backend {
  std::string_view name;
  Result<std::unique_ptr<Device>> (*open)(const BackendOptions& options);
};

constexpr std::array kBackends = {
    Backend{"cpu",
            [](const BackendOptions& options) -> Result<std::unique_ptr<Device>> {
              return open_cpu_device(options);
            }},
    Backend{"opencl",
            [](const BackendOptions& options) -> Result<std::unique_ptr<Device>> {
              opencl::OpenOptions open;
              open.wish = {options.device, options.software_device};
              open.kernel_folder = options.kernel_folder;
              return opencl::open_device(open);
            }},
    Backend{"reference",
            [](const BackendOptions&) -> Result<std::unique_ptr<Device>> {
              return open_reference_device();
            }},
};

}  // namespace

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const Backend& backend : kBackends) names.emplace_back(backend.name);
  return names;
}

Result<std::unique_ptr<Device>> open_backend(std::string_view name, const BackendOptions& options) {
  std::string known;
  for (const Backend& backend : kBackends) {
    if (backend.name == name) return backend.open(options);
    known += (known.empty() ? "" : ", ") + std::string(backend.name);
  }
  return Error(ErrorCode::kInvalidArgument, "unknown backend")
      .expecting("one of " + known, std::string(name.substr(0, 80)));
}

}  // namespace modeld
