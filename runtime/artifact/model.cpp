#include "runtime/artifact/model.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

namespace modeld {
namespace {

constexpr uint32_t kMaxReferenceSteps = 1000;

Error refused(std::string message) {
  return {ErrorCode::kRefused, std::move(message)};
}

Status expect(std::string what, std::string want, std::string have) {
  if (want == have) return {};
  return refused(std::move(what)).expecting(std::move(want), std::move(have));
}

Status expect_count(std::string_view what, size_t want, size_t have) {
  return expect("number of " + std::string(what), std::to_string(want), std::to_string(have));
}

Status check_inputs(const Contract& contract, const Program& program) {
  MODELD_TRY(expect_count("inputs", program.inputs.size(), contract.inputs.size()));
  for (size_t i = 0; i < contract.inputs.size(); ++i) {
    const InputContract& input = contract.inputs[i];
    const Tensor& tensor = program.tensors[program.inputs[i]];
    MODELD_TRY(expect("name of input " + std::to_string(i), tensor.name, input.name));
    MODELD_TRY(expect("type of input '" + input.name + "'", to_string(tensor.type),
                      to_string(input.type)));
    const bool is_frame = tensor.type.dtype == DType::kNv12;
    if (is_frame != (input.role == InputRole::kFrame)) {
      return refused("role of input '" + input.name + "'")
          .expecting(is_frame ? "frame" : "transform or vector",
                     std::string(to_string(input.role)));
    }
    if (input.role == InputRole::kTransform) {
      MODELD_TRY(
          expect("type of transform '" + input.name + "'", "f32[3,3]", to_string(input.type)));
    }
  }
  return {};
}

Status check_tolerances(const OutputSlice& slice) {
  std::set<DeviceClass> seen;
  for (const Tolerance& tolerance : slice.tolerances) {
    if (!(tolerance.absolute >= 0) || !(tolerance.relative >= 0)) {
      return refused("tolerance of slice '" + slice.name + "'")
          .expecting("numbers of at least 0", std::to_string(tolerance.absolute) + " and " +
                                                  std::to_string(tolerance.relative));
    }
    if (!seen.insert(tolerance.device_class).second) {
      return refused("tolerances of slice '" + slice.name + "'")
          .expecting("one per device class",
                     "two for " + std::string(to_string(tolerance.device_class)));
    }
  }
  return {};
}

Status check_slices(const OutputContract& output, int64_t elements) {
  if (output.slices.empty() && elements > 0) {
    return refused("slices of output '" + output.name + "'").expecting("at least one", "none");
  }
  int64_t previous_stop = 0;
  std::set<std::string_view> names;
  for (const OutputSlice& slice : output.slices) {
    const std::string what = "slice '" + slice.name + "' of output '" + output.name + "'";
    // Only an output without elements has an empty slice.
    const bool empty = slice.start >= slice.stop && elements > 0;
    if (slice.start < previous_stop || slice.stop < slice.start || empty || slice.stop > elements) {
      return refused(what).expecting(
          "start and stop within " + std::to_string(previous_stop) + " and " +
              std::to_string(elements),
          "[" + std::to_string(slice.start) + ", " + std::to_string(slice.stop) + ")");
    }
    if (!names.insert(slice.name).second) {
      return refused("name of " + what).expecting("one not used before", "a second one");
    }
    if (!(slice.minimum <= slice.maximum)) {
      return refused("range of " + what)
          .expecting("minimum <= maximum",
                     std::to_string(slice.minimum) + " and " + std::to_string(slice.maximum));
    }
    MODELD_TRY(check_tolerances(slice));
    previous_stop = slice.stop;
  }
  return {};
}

Status check_outputs(const Contract& contract, const Program& program) {
  MODELD_TRY(expect_count("outputs", program.outputs.size(), contract.outputs.size()));
  for (size_t i = 0; i < contract.outputs.size(); ++i) {
    const OutputContract& output = contract.outputs[i];
    const Tensor& tensor = program.tensors[program.outputs[i]];
    MODELD_TRY(expect("name of output " + std::to_string(i), tensor.name, output.name));
    MODELD_TRY(expect("type of output '" + output.name + "'", to_string(tensor.type),
                      to_string(output.type)));
    MODELD_TRY(check_slices(output, tensor.type.elements()));
  }
  return {};
}

Status check_states(const Contract& contract, const Program& program) {
  MODELD_TRY(expect_count("states", program.states.size(), contract.states.size()));
  for (size_t i = 0; i < contract.states.size(); ++i) {
    const StateContract& state = contract.states[i];
    MODELD_TRY(expect("name of state " + std::to_string(i),
                      program.tensors[program.states[i].current].name, state.name));
    MODELD_TRY(expect("reset of state '" + state.name + "'", "start", state.reset));
  }
  return {};
}

std::string describe(FrameSize size) {
  return std::to_string(size.width) + "x" + std::to_string(size.height);
}

std::string border_of(const Op& warp) {
  if (!warp.attributes.has("border_fill")) return "clamp";
  return "fill " + std::to_string(warp.attributes.get_int("border_fill"));
}

std::string border_of(const CameraContract& camera) {
  return camera.border_fill ? "fill " + std::to_string(*camera.border_fill) : "clamp";
}

Status check_camera(const CameraContract& camera, const Program& program, const Op& warp) {
  const std::string of = " of camera '" + camera.frame_input + "'";
  const Attributes& attributes = warp.attributes;
  MODELD_TRY(
      expect("transform input" + of, program.tensors[warp.inputs[1]].name, camera.transform_input));
  MODELD_TRY(expect("layout" + of, attributes.get_string("layout"), camera.layout));
  MODELD_TRY(expect("output size" + of,
                    std::to_string(attributes.get_int("out_width")) + "x" +
                        std::to_string(attributes.get_int("out_height")),
                    describe(camera.output_size)));
  MODELD_TRY(expect("border" + of, border_of(warp), border_of(camera)));
  if (camera.sizes.empty()) return refused("sizes" + of).expecting("at least one", "none");
  return {};
}

// Every frame input has one camera contract, and it describes every warp that reads the frame.
Status check_cameras(const Contract& contract, const Program& program) {
  const auto is_frame = [](const InputContract& input) { return input.role == InputRole::kFrame; };
  MODELD_TRY(expect_count(
      "cameras",
      static_cast<size_t>(std::count_if(contract.inputs.begin(), contract.inputs.end(), is_frame)),
      contract.cameras.size()));
  std::set<std::string_view> warped;
  for (const Op& op : program.ops) {
    if (op.kind != OpKind::kWarp) continue;
    const std::string& frame = program.tensors[op.inputs[0]].name;
    const CameraContract* camera = contract.find_camera(frame);
    if (camera == nullptr) {
      return refused("cameras").expecting("one for frame '" + frame + "'", "none");
    }
    MODELD_TRY(check_camera(*camera, program, op));
    warped.insert(camera->frame_input);
  }
  for (const CameraContract& camera : contract.cameras) {
    if (!warped.contains(camera.frame_input)) {
      return refused("camera '" + camera.frame_input + "'")
          .expecting("a warp that reads it", "none");
    }
  }
  return {};
}

Status check_references(const Contract& contract, const Program& program) {
  for (const ReferenceVector& reference : contract.references) {
    const std::string of = " of reference vector with seed " + std::to_string(reference.seed);
    if (reference.steps < 1 || reference.steps > kMaxReferenceSteps) {
      return refused("steps" + of)
          .expecting("1 to " + std::to_string(kMaxReferenceSteps), std::to_string(reference.steps));
    }
    MODELD_TRY(expect_count("outputs" + of, program.outputs.size(), reference.outputs.size()));
    for (size_t i = 0; i < reference.outputs.size(); ++i) {
      const Tensor& tensor = program.tensors[program.outputs[i]];
      MODELD_TRY(expect("bytes of output '" + tensor.name + "'" + of,
                        std::to_string(tensor.type.bytes()),
                        std::to_string(reference.outputs[i].size())));
    }
  }
  return {};
}

}  // namespace

Status check_contract(const Contract& contract, const Program& program) {
  MODELD_TRY(check_inputs(contract, program));
  MODELD_TRY(check_outputs(contract, program));
  MODELD_TRY(check_states(contract, program));
  MODELD_TRY(check_cameras(contract, program));
  MODELD_TRY(check_references(contract, program));
  if (contract.device_classes.empty()) {
    return refused("device classes").expecting("at least one", "none");
  }
  return {};
}

}  // namespace modeld
