#include "tools/modelctl/report.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/modelctl/latency_summary.h"

namespace modeld::modelctl {

void print_json(const Json& document) {
  const std::string text =
      document.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  std::printf("%s\n", text.c_str());
}

void occupy_standard_streams() {
  while (true) {
    const int fd = ::open("/dev/null", O_RDWR);  // the lowest number that is free
    if (fd > STDERR_FILENO) ::close(fd);
    if (fd < 0 || fd > STDERR_FILENO) return;
  }
}

Status finish_report() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  return errno_error("writing the report", errno == 0 ? EIO : errno);
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

Json latency_json(const LatencySummary& latency) {
  return {{"mean", latency.mean}, {"p50", latency.p50},   {"p90", latency.p90},
          {"p99", latency.p99},   {"p999", latency.p999}, {"max", latency.max}};
}

}  // namespace modeld::modelctl
