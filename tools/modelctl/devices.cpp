#include <cstdio>
#include <nlohmann/json.hpp>

#include "runtime/device/backends.h"
#include "runtime/device/device.h"
#include "tools/modelctl/report.h"
#include "tools/modelctl/subcommand.h"

namespace modeld::modelctl {
namespace {

Json memory_json(const MemoryKind& memory) {
  return {{"name", memory.name},
          {"host_visible", to_string(memory.host_visible)},
          {"coherent", to_string(memory.coherent)},
          {"cached", to_string(memory.cached)},
          {"snooped", to_string(memory.snooped)}};
}

Json capabilities_json(const DeviceCapabilities& device) {
  Json memory = Json::array();
  for (const MemoryKind& kind : device.memory) memory.push_back(memory_json(kind));
  return {{"backend", device.backend},
          {"device_class", to_string(device.device_class)},
          {"name", device.name},
          {"driver", device.driver},
          {"driver_version", device.driver_version},
          {"address_bits", device.address_bits},
          {"max_allocation_bytes", device.max_allocation_bytes},
          {"page_bytes", device.page_bytes},
          {"base_alignment_bytes", device.base_alignment_bytes},
          {"memory", memory},
          {"software_device", to_string(device.software_device)},
          {"unified_memory", to_string(device.unified_memory)},
          {"host_pointer_import", to_string(device.host_pointer_import)},
          {"dma_buf_import", to_string(device.dma_buf_import)},
          {"peer_access", to_string(device.peer_access)},
          {"copy_queue", to_string(device.copy_queue)},
          {"fp16", to_string(device.fp16)},
          {"bf16", to_string(device.bf16)},
          {"int8", to_string(device.int8)},
          {"timestamps", to_string(device.timestamps)}};
}

Json device_json(const std::string& backend) {
  const auto device = open_backend(backend);
  if (device.ok()) return capabilities_json((*device)->capabilities());
  return {{"backend", backend}, {"error", to_string(device.error())}};
}

void print_text(const Json& devices) {
  for (const Json& device : devices) {
    for (const auto& [key, value] : device.items()) {
      const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
      std::printf("%-22s %s\n", key.c_str(), text.c_str());
    }
    std::printf("\n");
  }
}

Status devices(bool json) {
  Json all = Json::array();
  for (const std::string& backend : backend_names()) all.push_back(device_json(backend));
  if (json) {
    print_json({{"devices", all}});
  } else {
    print_text(all);
  }
  return {};
}

}  // namespace

void add_devices(CLI::App& app, Action& chosen) {
  const auto json = std::make_shared<bool>(false);
  Subcommand command(app, "devices",
                     "Show what every backend's device can do, as probed (unknown is not yes)");
  command.add_json_flag(*json);
  command.set_example("modelctl devices --json");
  command.set_action(chosen, [json] { return devices(*json); });
}

}  // namespace modeld::modelctl
