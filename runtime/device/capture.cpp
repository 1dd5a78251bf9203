#include "runtime/device/capture.h"

#include <algorithm>

namespace modeld {
namespace {

Error frame_error(const std::string& input, std::string want, std::string have) {
  return Error(ErrorCode::kInvalidArgument, "frame input '" + input + "'")
      .expecting(std::move(want), std::move(have));
}

// Position in Program::inputs of the frame input called `name`.
std::optional<size_t> find_frame_input(const Program& program, std::string_view name) {
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const Tensor& tensor = program.tensors[program.inputs[i]];
    if (tensor.type.dtype == DType::kNv12 && tensor.name == name) return i;
  }
  return std::nullopt;
}

}  // namespace

std::optional<size_t> find_slot(std::span<const Slot> slots, std::string_view name) {
  const auto found =
      std::find_if(slots.begin(), slots.end(), [&](const Slot& slot) { return slot.name == name; });
  if (found == slots.end()) return std::nullopt;
  return static_cast<size_t>(found - slots.begin());
}

Result<std::vector<std::optional<FrameBinding>>> match_frames(const Program& program,
                                                              const CaptureOptions& options) {
  std::vector<std::optional<FrameBinding>> matched(program.inputs.size());
  for (const FrameBinding& frame : options.frames) {
    const auto input = find_frame_input(program, frame.input);
    if (!input) return frame_error(frame.input, "a frame input of the program", "no such input");
    if (matched[*input]) return frame_error(frame.input, "one layout", "two");
    if (Status status = frame.layout.check(); !status.ok()) {
      return std::move(status).error().in("frame input '" + frame.input + "'");
    }
    matched[*input] = frame;
  }
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const Tensor& tensor = program.tensors[program.inputs[i]];
    if (tensor.type.dtype != DType::kNv12 || matched[i]) continue;
    return frame_error(tensor.name, "a layout in the capture options", "none");
  }
  return matched;
}

}  // namespace modeld
