#include "tools/compile/host_inputs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

// Vector sources and their lengths (contract.h).
constexpr auto kVectors = std::to_array<std::pair<std::string_view, int64_t>>({
    {"desire_pulse", 8},
    {"traffic_convention", 2},
    {"action_t", 2},
    {"lateral_control_params", 2},
    {"calibration", 3},
});

const TensorType kMatrix{DType::kFloat32, {3, 3}};

}  // namespace

const InputContract* HostInputs::find(const std::string& name) const {
  const auto found = std::find_if(contracts_.begin(), contracts_.end(),
                                  [&](const InputContract& input) { return input.name == name; });
  return found == contracts_.end() ? nullptr : &*found;
}

TensorId HostInputs::id_of(const std::string& name) const {
  return draft_.inputs[static_cast<size_t>(find(name) - contracts_.data())];
}

TensorId HostInputs::add(InputContract contract) {
  const TensorId id = draft_.add_tensor(contract.type, contract.name);
  draft_.inputs.push_back(id);
  contracts_.push_back(std::move(contract));
  return id;
}

Result<TensorId> HostInputs::vector(const std::string& source) {
  if (find(source) != nullptr) return id_of(source);
  for (const auto& [name, length] : kVectors) {
    if (name != source) continue;
    return add({source, InputRole::kVector, source, {DType::kFloat32, {length}}});
  }
  return Error(ErrorCode::kInvalidArgument, "unknown source '" + printable(source) + "'");
}

Result<TensorId> HostInputs::unsourced(const std::string& name, const TensorType& type) {
  if (find(name) != nullptr) {
    return Error(ErrorCode::kInvalidArgument, "two inputs are named '" + printable(name) + "'");
  }
  return add({name, InputRole::kVector, "", type});
}

Result<TensorId> HostInputs::warped(const std::string& frame, const WarpSpec& warp) {
  const auto known = [&](const CameraContract& camera) { return camera.frame_input == frame; };
  if (std::any_of(cameras_.begin(), cameras_.end(), known)) {
    return Error(ErrorCode::kInvalidArgument, "frame '" + printable(frame) + "' is warped twice");
  }
  const TensorId pixels = add({frame, InputRole::kFrame, frame, {DType::kNv12, {}}});
  const InputContract* transform = find(warp.transform);
  if (transform != nullptr && transform->role != InputRole::kTransform) {
    return Error(ErrorCode::kInvalidArgument,
                 "'" + printable(warp.transform) + "' is a transform and something else");
  }
  const TensorId matrix =
      transform != nullptr ? id_of(warp.transform)
                           : add({warp.transform, InputRole::kTransform, warp.transform, kMatrix});
  const bool planes = warp.layout == "yuv420_planes";
  cameras_.push_back({frame, warp.transform, warp.sizes, warp.layout, warp.output_size,
                      warp.border_fill, "full", planes ? "bt601" : "none"});
  Attributes attributes;
  attributes.set("layout", warp.layout);
  attributes.set("out_width", static_cast<int64_t>(warp.output_size.width));
  attributes.set("out_height", static_cast<int64_t>(warp.output_size.height));
  if (warp.filter != "nearest") attributes.set("filter", warp.filter);
  if (warp.border_fill) attributes.set("border_fill", static_cast<int64_t>(*warp.border_fill));
  return draft_.add(OpKind::kWarp, frame + "_warp", {pixels, matrix}, std::move(attributes),
                    Phase::kWarp);
}

}  // namespace modeld::compile
