#include "tools/modelctl/report.h"

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace modeld::modelctl {

void print_json(const Json& document) {
  const std::string text =
      document.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  std::printf("%s\n", text.c_str());
}

std::string format_bytes(uint64_t bytes) {
  constexpr std::array<const char*, 4> kUnits = {"kB", "MB", "GB", "TB"};
  if (bytes < 1000) return std::to_string(bytes) + " bytes";
  double value = static_cast<double>(bytes) / 1000;
  size_t unit = 0;
  while (value >= 1000 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", value, kUnits[unit]);
  return text;
}

std::string format_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

}  // namespace modeld::modelctl
