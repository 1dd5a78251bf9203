#include "runtime/opencl/select_device.h"

#include <charconv>
#include <optional>
#include <tuple>

namespace modeld::opencl {
namespace {

std::string label(const DeviceInfo& device) {
  return device.platform_name + ": " + device.name;
}

// "OpenCL <major>.<minor> <vendor text>", as the specification prescribes.
bool at_least_1_2(const std::string& version) {
  constexpr std::string_view kStart = "OpenCL ";
  if (!version.starts_with(kStart)) return false;
  const char* const end = version.data() + version.size();
  int major = 0;
  int minor = 0;
  const auto [dot, failed] = std::from_chars(version.data() + kStart.size(), end, major);
  if (failed != std::errc() || dot == end || *dot != '.') return false;
  if (std::from_chars(dot + 1, end, minor).ec != std::errc()) return false;
  return major > 1 || (major == 1 && minor >= 2);
}

std::string passed_over_because(const DeviceInfo& device, const DeviceWish& wish) {
  if (std::string reason = unusable_because(device); !reason.empty()) return reason;
  if (label(device).find(wish.name) == std::string::npos) return "another name";
  if (device.software() && !wish.software) return "a software device, which was not asked for";
  return "";
}

int kind_rank(const DeviceInfo& device) {
  if ((device.type & CL_DEVICE_TYPE_GPU) != 0) return 2;
  return device.software() ? 0 : 1;
}

}  // namespace

std::string unusable_because(const DeviceInfo& device) {
  if (!device.available) return "not available";
  if (!device.compiler) return "no compiler";
  if (!device.little_endian) return "big-endian memory";
  if (device.profile != "FULL_PROFILE") return "profile '" + device.profile + "'";
  if (!at_least_1_2(device.version))
    return "version '" + device.version + "', OpenCL 1.2 is needed";
  return "";
}

Result<size_t> select_device(std::span<const DeviceInfo> devices, const DeviceWish& wish) {
  std::optional<size_t> best;
  std::string reasons;
  const auto rank = [&](size_t i) {
    return std::make_tuple(kind_rank(devices[i]), devices[i].compute_units);
  };
  for (size_t i = 0; i < devices.size(); ++i) {
    const std::string reason = passed_over_because(devices[i], wish);
    if (!reason.empty()) {
      reasons += (reasons.empty() ? "" : "; ") + label(devices[i]) + ": " + reason;
    } else if (!best || rank(i) > rank(*best)) {
      best = i;
    }
  }
  if (best) return *best;
  std::string wanted = wish.software ? "a usable device" : "a usable device that is no software";
  if (!wish.name.empty()) wanted += " with '" + wish.name + "' in its name";
  return Error(ErrorCode::kNotFound, "no OpenCL device")
      .expecting(std::move(wanted), reasons.empty() ? "none at all" : reasons);
}

}  // namespace modeld::opencl
