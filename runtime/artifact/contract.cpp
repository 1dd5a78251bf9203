#include "runtime/artifact/contract.h"

#include <algorithm>
#include <array>

namespace modeld {
namespace {

constexpr std::array<std::string_view, 3> kRoles = {"driving", "monitoring", "other"};
constexpr std::array<std::string_view, 3> kDeviceClasses = {"cpu", "gpu", "accelerator"};
constexpr std::array<std::string_view, 3> kPrecisions = {"f32", "bf16", "f16"};
constexpr std::array<std::string_view, 3> kInputRoles = {"frame", "transform", "vector"};

template <typename Enum, size_t N>
std::optional<Enum> parse_name(const std::array<std::string_view, N>& names,
                               std::string_view text) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

template <typename List, typename Match>
auto find_in(const List& list, Match match) -> decltype(list.data()) {
  const auto found = std::find_if(list.begin(), list.end(), match);
  return found == list.end() ? nullptr : &*found;
}

}  // namespace

std::string_view to_string(ModelRole role) {
  return kRoles[static_cast<size_t>(role)];
}
std::string_view to_string(DeviceClass device_class) {
  return kDeviceClasses[static_cast<size_t>(device_class)];
}
std::string_view to_string(Precision precision) {
  return kPrecisions[static_cast<size_t>(precision)];
}
std::string_view to_string(InputRole role) {
  return kInputRoles[static_cast<size_t>(role)];
}

std::optional<ModelRole> parse_model_role(std::string_view text) {
  return parse_name<ModelRole>(kRoles, text);
}
std::optional<DeviceClass> parse_device_class(std::string_view text) {
  return parse_name<DeviceClass>(kDeviceClasses, text);
}
std::optional<Precision> parse_precision(std::string_view text) {
  return parse_name<Precision>(kPrecisions, text);
}
std::optional<InputRole> parse_input_role(std::string_view text) {
  return parse_name<InputRole>(kInputRoles, text);
}

const OutputSlice* OutputContract::find_slice(std::string_view slice_name) const {
  return find_in(slices, [&](const OutputSlice& slice) { return slice.name == slice_name; });
}

const InputContract* Contract::find_input(std::string_view input_name) const {
  return find_in(inputs, [&](const InputContract& input) { return input.name == input_name; });
}

const InputContract* Contract::find_source(std::string_view source) const {
  return find_in(inputs, [&](const InputContract& input) { return input.source == source; });
}

const CameraContract* Contract::find_camera(std::string_view frame_input) const {
  return find_in(cameras,
                 [&](const CameraContract& camera) { return camera.frame_input == frame_input; });
}

}  // namespace modeld
