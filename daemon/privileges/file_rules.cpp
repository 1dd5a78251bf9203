#include "daemon/privileges/file_rules.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "daemon/health/flight_writer.h"

namespace modeld {
namespace {

// What libraries read: themselves, their settings, time zones, the shape of the processor and of
// the process. Nothing of /etc beyond these files, nothing of other processes.
constexpr std::array kSystemFiles = {"/usr",
                                     "/lib",
                                     "/lib64",
                                     "/etc/ld.so.cache",
                                     "/etc/ssl",
                                     "/etc/localtime",
                                     "/etc/OpenCL",
                                     "/proc/self",
                                     "/proc/stat",
                                     "/proc/cpuinfo",
                                     "/proc/meminfo",
                                     "/sys/devices",
                                     "/sys/class",
                                     "/dev/urandom",
                                     "/dev/random",
                                     "/proc/sys/vm/overcommit_memory",
                                     "/dev/zero",
                                     "/sys/fs/cgroup",
                                     "/proc/sys/kernel/ngroups_max"};

// The nodes and descriptions of GPUs, by the drivers there are (systemd/drop-ins).
constexpr std::array kGpuNodes = {"/dev/dri",        "/dev/kgsl-3d0",         "/dev/ion",
                                  "/dev/mali0",      "/dev/dma_heap/system",  "/dev/nvidiactl",
                                  "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia0",
                                  "/dev/nvidia1",    "/dev/nvidia2",          "/dev/nvidia3"};
constexpr std::array kGpuFiles = {"/sys/dev/char", "/sys/bus/pci", "/sys/module",
                                  "/proc/driver/nvidia"};

void add_device_rules(const DaemonConfig& config, FileRules& rules) {
  if (config.device.backend != "opencl") return;
  if (config.device.software) {
    // It compiles, links and keeps what comes of it; stage 2 ends the executing.
    rules.push_back({"/usr", FileAccess::kExecute, false});
    const auto scratch = software_device_folder(config);
    if (!scratch.empty()) rules.push_back({scratch, FileAccess::kOwn, false});
    return;
  }
  for (const char* node : kGpuNodes) rules.push_back({node, FileAccess::kDevice, false});
  for (const char* file : kGpuFiles) rules.push_back({file, FileAccess::kRead, false});
}

// The nearest folder above that exists: where something is waited for that is not there yet. The
// root is not given for that.
std::filesystem::path existing_above(std::filesystem::path path) {
  std::error_code ignored;
  while (!std::filesystem::exists(path, ignored) && path.has_parent_path() &&
         path != path.parent_path()) {
    path = path.parent_path();
  }
  return path == path.root_path() ? std::filesystem::path() : path;
}

bool gives(const FileRules& rules, const std::filesystem::path& folder) {
  return std::any_of(rules.begin(), rules.end(), [&](const FileRule& rule) {
    return rule.access == FileAccess::kOwn && rule.path == folder;
  });
}

}  // namespace

std::filesystem::path software_device_folder(const DaemonConfig& config) {
  if (config.device.backend != "opencl" || !config.device.software) return {};
  if (const char* given = std::getenv("POCL_CACHE_DIR"); given != nullptr && *given != '\0') {
    return given;
  }
  const auto state = state_folder(config.state.dir);
  return state ? *state / "pocl" : std::filesystem::path();
}

FileRules file_rules(const DaemonConfig& config, const std::filesystem::path& topic_dir,
                     const std::vector<std::filesystem::path>& topic_files) {
  FileRules rules;
  for (const char* path : kSystemFiles) rules.push_back({path, FileAccess::kRead, false});
  rules.push_back({"/dev/null", FileAccess::kReadWrite, false});
  // A missing artifact or key is refused by whoever opens it, with a better message than ours.
  rules.push_back({config.artifact.path, FileAccess::kRead, false});
  rules.push_back({config.artifact.trust, FileAccess::kRead, false});
  if (config.fallback.enabled && !config.fallback.artifact.empty()) {
    rules.push_back({config.fallback.artifact, FileAccess::kRead, false});
  }
  if (config.kind == DaemonKind::kModeld) {
    const auto params = existing_above(config.inputs.params_dir);
    if (!params.empty()) rules.push_back({params, FileAccess::kRead, false});
  }
  if (const auto state = state_folder(config.state.dir)) {
    rules.push_back({*state, FileAccess::kOwn, false});
  }
  add_device_rules(config, rules);
  if (!topic_dir.empty()) rules.push_back({topic_dir, FileAccess::kOwn, false});
  for (const auto& file : topic_files) rules.push_back({file, FileAccess::kReadWrite, true});
  return rules;
}

SystemCallPolicy system_call_policy(const DaemonConfig& config) {
  SystemCallPolicy policy;
  policy.internet = config.transport.kind == TransportKind::kZmqTcp;
  return policy;
}

AuditScope audit_scope(const DaemonConfig& config, const FileRules& rules) {
  AuditScope scope;
  scope.internet = system_call_policy(config).internet;
  std::erase_if(scope.foreign_folders,
                [&](const std::string& folder) { return gives(rules, folder); });
  return scope;
}

}  // namespace modeld
