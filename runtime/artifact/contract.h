// What an artifact promises about its program: the part of the manifest that people and daemons
// read. FORMAT.md beside this file says how it is stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/program/tensor.h"

namespace modeld {

// Version of the file's layout and of the meaning of programs. Another number is refused.
constexpr uint32_t kFormatVersion = 1;
constexpr uint32_t kRuntimeAbiVersion = 2;

enum class ModelRole : uint8_t { kDriving, kMonitoring, kOther };
std::string_view to_string(ModelRole role);  // "driving", "monitoring", "other"
std::optional<ModelRole> parse_model_role(std::string_view text);

enum class DeviceClass : uint8_t { kCpu, kGpu, kAccelerator };
std::string_view to_string(DeviceClass device_class);  // "cpu", "gpu", "accelerator"
std::optional<DeviceClass> parse_device_class(std::string_view text);

// Storage of weights and intermediates; accumulation is always float32 or wider.
enum class Precision : uint8_t { kFloat32, kBFloat16, kFloat16 };
std::string_view to_string(Precision precision);  // "f32", "bf16", "f16"
std::optional<Precision> parse_precision(std::string_view text);

enum class InputRole : uint8_t { kFrame, kTransform, kVector };
std::string_view to_string(InputRole role);  // "frame", "transform", "vector"
std::optional<InputRole> parse_input_role(std::string_view text);

// A value the host gives per frame. `source` is what a daemon puts there, one of
//   narrow_road, wide_road, cabin                                     (frames)
//   narrow_road_transform, wide_road_transform, cabin_transform       (f32[3,3], model -> camera)
//   cabin_portrait_transform           the same for networks of 2021 that look at one seat, 320x640
//   desire_pulse        f32[8]  one frame's rising edges (facts: desire pulse), history is state
//   traffic_convention  f32[2]  one-hot [left-hand, right-hand]
//   action_t            f32[2]  s, [lateral, longitudinal] action time
//   lateral_control_params f32[2]  [speed (m/s, not below 0), lateral delay (s)]; older networks
//   calibration         f32[3]  rad, rpyCalib
// or empty: only `modelctl run` can feed it and a daemon refuses the artifact naming the input.
struct InputContract {
  std::string name;  // equals the program input's tensor name
  InputRole role = InputRole::kVector;
  std::string source;
  TensorType type;  // what the host hands over
  bool operator==(const InputContract&) const = default;
};

// How far a backend of a class may be from the reference, per slice: |a - r| <= abs + rel * |r|.
struct Tolerance {
  DeviceClass device_class = DeviceClass::kCpu;
  double absolute = 0;
  double relative = 0;
  bool operator==(const Tolerance&) const = default;
};

// A named part [start, stop) of an output's flattened elements.
struct OutputSlice {
  std::string name;
  int64_t start = 0;
  int64_t stop = 0;
  // Declared range; a value outside makes the frame invalid. Infinite where nothing is declared.
  double minimum = 0;
  double maximum = 0;
  // The reference saw different values for different inputs and inside the slice: constant or
  // all-zero then means a broken kernel.
  bool varies = false;
  std::vector<Tolerance> tolerances;
  bool operator==(const OutputSlice&) const = default;
};

struct OutputContract {
  std::string name;  // equals the program output's tensor name
  TensorType type;
  std::vector<OutputSlice> slices;  // ascending, not overlapping; at least one if it has elements
  bool operator==(const OutputContract&) const = default;

  const OutputSlice* find_slice(std::string_view slice_name) const;
};

struct StateContract {
  std::string name;   // equals the name of the state's `current` tensor
  std::string reset;  // when it returns to its initial value: "start" (start, model switch)
  bool operator==(const StateContract&) const = default;
};

struct FrameSize {
  uint32_t width = 0;
  uint32_t height = 0;
  bool operator==(const FrameSize&) const = default;
};

// One camera frame input and the warp that reads it. The geometry (stride, offsets) is the frame
// buffer's; only the picture's size is part of the contract.
struct CameraContract {
  std::string frame_input;
  std::string transform_input;
  std::vector<FrameSize> sizes;  // those the artifact was made for
  std::string layout;            // "yuv420_planes" or "luma"
  FrameSize output_size;
  std::optional<uint8_t> border_fill;
  std::string pixel_range;    // "full"
  std::string colour_matrix;  // "bt601" or "none" (no conversion takes place; for people)
  bool operator==(const CameraContract&) const = default;
};

// `steps` consecutive frames of fill_seeded() inputs from the initial state, each committed;
// `outputs` are the last frame's, by the reference interpreter, one byte string per output.
struct ReferenceVector {
  uint64_t seed = 0;
  uint32_t steps = 1;
  std::vector<std::vector<std::byte>> outputs;
  bool operator==(const ReferenceVector&) const = default;
};

struct Acceptance {
  std::string backend;
  DeviceClass device_class = DeviceClass::kCpu;
  std::string device;
  double worst_ms = 0;
  int64_t unix_seconds = 0;
  bool operator==(const Acceptance&) const = default;
};

struct Contract {
  std::string name;
  ModelRole role = ModelRole::kOther;
  std::string source_sha256;  // hex: ONNX files in stage order, replaced weights; joined by ','
  std::vector<std::pair<std::string, int64_t>> opsets;
  std::string compiler_version;
  std::string checkpoint;  // ONNX metadata `model_checkpoint`, may be empty
  std::vector<DeviceClass> device_classes;
  Precision precision = Precision::kFloat32;
  std::vector<InputContract> inputs;    // in the program's order
  std::vector<OutputContract> outputs;  // in the program's order
  std::vector<StateContract> states;    // in the program's order
  std::vector<CameraContract> cameras;
  std::vector<ReferenceVector> references;
  std::vector<Acceptance> acceptances;
  bool operator==(const Contract&) const = default;

  const InputContract* find_input(std::string_view input_name) const;
  const InputContract* find_source(std::string_view source) const;
  const CameraContract* find_camera(std::string_view frame_input) const;
};

}  // namespace modeld
