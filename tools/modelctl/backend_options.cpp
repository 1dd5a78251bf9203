#include "tools/modelctl/backend_options.h"

#include <CLI/CLI.hpp>

namespace modeld::modelctl {

void add_backend_options(CLI::App& command, BackendChoice& choice) {
  std::string names;
  for (const std::string& name : backend_names()) names += (names.empty() ? "" : ", ") + name;
  command.add_option("--backend", choice.name, "One of: " + names)->capture_default_str();
  constexpr uint32_t kMaxThreads = 1024;
  command.add_option("--threads", choice.threads, "Host threads; 0: the backend's choice")
      ->check(CLI::Range(uint32_t{0}, kMaxThreads))
      ->capture_default_str();
}

Result<std::unique_ptr<Device>> open_device(const BackendChoice& choice) {
  return open_backend(choice.name, {.threads = choice.threads});
}

}  // namespace modeld::modelctl
