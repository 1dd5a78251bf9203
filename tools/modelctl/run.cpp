#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/artifact/artifact.h"
#include "runtime/base/clock.h"
#include "runtime/device/device.h"
#include "tools/compile/onnx_graph.h"
#include "tools/modelctl/backend_options.h"
#include "tools/modelctl/frame_option.h"
#include "tools/modelctl/input_shapes.h"
#include "tools/modelctl/interrupt.h"
#include "tools/modelctl/model_source.h"
#include "tools/modelctl/npy_tensor.h"
#include "tools/modelctl/output_files.h"
#include "tools/modelctl/report.h"
#include "tools/modelctl/subcommand.h"

namespace modeld::modelctl {
namespace {

// The reference interpreter takes minutes for a large network.
constexpr Nanoseconds kReplayDeadline = 3600 * kSecond;

struct Options {
  ModelOptions model;
  BackendChoice backend;
  std::vector<std::string> inputs;
  std::vector<std::string> frames;
  std::string output_dir;
  uint32_t steps = 1;
  bool json = false;
};

using NamedBytes = std::map<std::string, std::vector<std::byte>>;

struct GivenInputs {
  NamedBytes bytes;
  CaptureOptions capture;
};

Result<NpyArray> read_array(const std::string& path) {
  auto array = read_npy(path);
  if (array.ok()) return array;
  Error error = std::move(array).error();
  // Nobody's artifact is to blame for a bad array.
  if (error.code != ErrorCode::kNotFound) error.code = ErrorCode::kInvalidArgument;
  return error;
}

Status add_frame(const Contract& contract, const InputContract& input, const NpyArray& array,
                 const std::vector<FrameOption>& frames, GivenInputs& given) {
  const auto frame = std::find_if(frames.begin(), frames.end(), [&](const FrameOption& option) {
    return option.input == input.name;
  });
  if (frame == frames.end()) {
    return Error(ErrorCode::kInvalidArgument, "geometry of frame '" + input.name + "'")
        .expecting("--frame " + input.name + "=WIDTHxHEIGHT[:STRIDE:UV_OFFSET]", "none");
  }
  if (array.type != NpyType::kU1) {
    return Error(ErrorCode::kInvalidArgument, "frame '" + input.name + "'")
        .expecting("raw NV12 bytes, |u1", describe(array));
  }
  MODELD_ASSIGN(const Nv12Layout layout,
                Nv12Layout::from_wire(frame->width, frame->height, frame->stride, frame->uv_offset,
                                      array.bytes.size()));
  if (const CameraContract* camera = contract.find_camera(input.name)) {
    MODELD_TRY(check_camera_size(*camera, {layout.width, layout.height}));
  }
  given.capture.frames.push_back({input.name, layout, InputMode::kUpload});
  given.bytes[input.name] = array.bytes;
  return {};
}

std::string names_of(const std::vector<InputContract>& inputs) {
  std::string names;
  for (const InputContract& input : inputs) {
    names += (names.empty() ? "" : ", ") + input.name;
  }
  return names.empty() ? "none" : names;
}

Status add_input(const Contract& contract, const std::string& assignment,
                 const std::vector<FrameOption>& frames, GivenInputs& given) {
  MODELD_ASSIGN(const auto parts, split_assignment("--input", assignment));
  const auto& [name, path] = parts;
  const InputContract* input = contract.find_input(name);
  if (input == nullptr) {
    return Error(ErrorCode::kInvalidArgument, "unknown input")
        .expecting("one of " + names_of(contract.inputs), name);
  }
  if (given.bytes.contains(name)) {
    return Error(ErrorCode::kInvalidArgument, "input '" + name + "'").expecting("once", "twice");
  }
  MODELD_ASSIGN(NpyArray array, read_array(path));
  if (input->role == InputRole::kFrame) return add_frame(contract, *input, array, frames, given);
  auto bytes = tensor_from_npy(std::move(array), input->type);
  if (!bytes.ok()) return std::move(bytes).error().in("input '" + name + "' from " + path);
  given.bytes[name] = std::move(bytes).value();
  return {};
}

Result<GivenInputs> gather_inputs(const Contract& contract, const Options& options) {
  std::vector<FrameOption> frames;
  for (const std::string& text : options.frames) {
    MODELD_ASSIGN(const FrameOption frame, parse_frame_option(text));
    const InputContract* input = contract.find_input(frame.input);
    if (input == nullptr || input->role != InputRole::kFrame) {
      return Error(ErrorCode::kInvalidArgument, "--frame")
          .expecting("an input that is a camera frame",
                     input == nullptr ? "no input '" + frame.input + "'"
                                      : "'" + frame.input + "', " + to_string(input->type));
    }
    frames.push_back(frame);
  }
  GivenInputs given;
  for (const std::string& assignment : options.inputs) {
    MODELD_TRY(add_input(contract, assignment, frames, given));
  }
  for (const InputContract& input : contract.inputs) {
    if (given.bytes.contains(input.name)) continue;
    return Error(ErrorCode::kInvalidArgument, "missing input")
        .expecting("--input " + input.name + "=FILE.npy (" + to_string(input.type) + ")", "none");
  }
  return given;
}

// What `steps` replays with the same inputs did.
struct Outcome {
  std::vector<double> milliseconds;
  uint32_t index_out_of_range = 0;
  uint32_t integer_division_by_zero = 0;
};

Result<Outcome> replay(Capture& capture, const GivenInputs& given, uint32_t steps) {
  Outcome outcome;
  for (uint32_t step = 0; step < steps; ++step) {
    for (size_t i = 0; i < capture.inputs().size(); ++i) {
      const auto& bytes = given.bytes.at(capture.inputs()[i].name);
      std::copy(bytes.begin(), bytes.end(), capture.staging(i).begin());
    }
    const Nanoseconds start = Clock::real().monotonic();
    MODELD_ASSIGN(Submission * submission, capture.replay());
    MODELD_TRY(submission->wait(Deadline::after(Clock::real(), kReplayDeadline)));
    outcome.milliseconds.push_back(static_cast<double>(Clock::real().monotonic() - start) /
                                   kMillisecond);
    outcome.index_out_of_range += submission->report().index_out_of_range;
    outcome.integer_division_by_zero += submission->report().integer_division_by_zero;
    MODELD_TRY(capture.commit());
  }
  return outcome;
}

void report(const Options& options, const LoadedModel& loaded, const Device& device,
            const Outcome& outcome, const Json& outputs) {
  const double last = outcome.milliseconds.back();
  if (options.json) {
    print_json({{"artifact", loaded.artifact},
                {"backend", device.capabilities().backend},
                {"device", device.capabilities().name},
                {"steps", outcome.milliseconds.size()},
                {"latency_ms", outcome.milliseconds},
                {"index_out_of_range", outcome.index_out_of_range},
                {"integer_division_by_zero", outcome.integer_division_by_zero},
                {"outputs", outputs}});
    return;
  }
  for (const Json& output : outputs) {
    std::printf("%s  %s\n", output["file"].get<std::string>().c_str(),
                output["type"].get<std::string>().c_str());
  }
  std::printf("%s ms on %s\n", format_number(last).c_str(), device.capabilities().name.c_str());
}

Status check_flags(const Outcome& outcome) {
  if (outcome.index_out_of_range == 0 && outcome.integer_division_by_zero == 0) return {};
  return Error(ErrorCode::kCheckFailed, "the outputs are not to be believed")
      .expecting("every index in range and no integer division by zero",
                 std::to_string(outcome.index_out_of_range) + " indices out of range, " +
                     std::to_string(outcome.integer_division_by_zero) + " divisions by zero");
}

bool has_open_extent(const compile::OnnxInput& input) {
  return std::find(input.shape.begin(), input.shape.end(), std::nullopt) != input.shape.end();
}

// Extents that an ONNX file leaves open are those of the arrays given for its inputs.
Result<ModelOptions> model_options(const Options& options) {
  ModelOptions model = options.model;
  const bool plain =
      std::filesystem::path(model.path).extension() == ".onnx" && model.pipeline.empty();
  if (!plain) return model;
  MODELD_ASSIGN(const auto named, parse_input_shapes(model.input_shapes));
  MODELD_ASSIGN(const compile::OnnxGraph graph, compile::read_onnx(model.path));
  for (const std::string& assignment : options.inputs) {
    MODELD_ASSIGN(const auto parts, split_assignment("--input", assignment));
    for (const compile::OnnxInput& input : graph.inputs) {
      if (input.name != parts.first || named.contains(input.name) || !has_open_extent(input)) {
        continue;
      }
      MODELD_ASSIGN(const NpyArray array, read_array(parts.second));
      std::string text;
      for (const uint64_t extent : array.shape) {
        text += (text.empty() ? "" : "x") + std::to_string(extent);
      }
      if (array.shape.size() == input.shape.size()) {
        model.input_shapes.push_back(input.name + "=" + text);
      }
    }
  }
  return model;
}

Status run_model(const Options& options) {
  MODELD_ASSIGN(const ModelOptions model, model_options(options));
  MODELD_ASSIGN(const LoadedModel loaded, load_model(model, /*make_references=*/false));
  MODELD_ASSIGN(GivenInputs given, gather_inputs(loaded.model.contract, options));
  MODELD_ASSIGN(const auto device, open_device(options.backend));
  given.capture.threads = options.backend.threads;
  MODELD_ASSIGN(const auto capture,
                device->record(loaded.model.program, *loaded.model.weights, given.capture));
  MODELD_ASSIGN(const Outcome outcome, replay(*capture, given, options.steps));
  MODELD_ASSIGN(const Json outputs, write_outputs(*capture, options.output_dir));
  report(options, loaded, *device, outcome, outputs);
  return check_flags(outcome);
}

}  // namespace

void add_run(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<Options>();
  Subcommand command(app, "run", "Run a model on given arrays");
  add_model_options(command, options->model);
  add_backend_options(command, options->backend);
  command.add_option("--input", options->inputs, "NAME=FILE.npy, once per input of the model");
  command.add_option("--frame", options->frames,
                     "NAME=WIDTHxHEIGHT[:STRIDE:UV_OFFSET]: geometry of a raw NV12 input");
  command.add_option("--output-dir", options->output_dir, "Folder for NAME.npy of every output")
      .required();
  constexpr uint32_t kMaxSteps = 1'000'000;
  command
      .add_option("--steps", options->steps,
                  "Frames with the same inputs; state goes from one to the next")
      .in_range(1u, kMaxSteps)
      .with_default();
  command.add_json_flag(options->json);
  command.set_example(
      "modelctl run face.onnx --backend cpu --input input=picture.npy --output-dir out");
  command.set_action(chosen, [options] { return run_model(*options); });
}

}  // namespace modeld::modelctl
