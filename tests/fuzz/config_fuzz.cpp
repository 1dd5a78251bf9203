// Configuration text: must end in a configuration or in named problems.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "config/config_loader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto kind : {modeld::DaemonKind::kModeld, modeld::DaemonKind::kDmonitoringmodeld}) {
    (void)modeld::parse_config(text, "fuzz.toml", kind);
  }
  return 0;
}
