#include "tools/modelctl/backend_options.h"

#include "tools/modelctl/subcommand.h"

namespace modeld::modelctl {

void add_backend_options(Subcommand& command, BackendChoice& choice) {
  std::string names;
  for (const std::string& name : backend_names()) names += (names.empty() ? "" : ", ") + name;
  command.add_option("--backend", choice.name, "One of: " + names).with_default();
  constexpr uint32_t kMaxThreads = 1024;
  command.add_option("--threads", choice.threads, "Host threads; 0: the backend's choice")
      .in_range(0u, kMaxThreads)
      .with_default();
  command.add_option("--kernels-in", choice.kernels,
                     "opencl: folder that keeps built kernels between runs");
}

Result<std::unique_ptr<Device>> open_device(const BackendChoice& choice) {
  BackendOptions options;
  options.threads = choice.threads;
  options.kernel_folder = choice.kernels;
  return open_backend(choice.name, options);
}

}  // namespace modeld::modelctl
