// What surrounds the networks of a model: sources, warps, histories, stages. PIPELINE.md beside
// this file says what each key means.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/artifact/contract.h"
#include "runtime/base/result.h"

namespace modeld::compile {

struct WarpSpec {
  std::string transform;  // host input f32[3,3]
  std::string layout;     // "yuv420_planes" or "luma"
  FrameSize output_size;  // pixels
  std::optional<uint8_t> border_fill;
  std::string filter = "nearest";  // or "bilinear", which knows no border_fill
  std::vector<FrameSize> sizes;  // of the camera, at least one
};

// One value the host gives: a frame that is warped, or a vector.
struct SourceSpec {
  std::string source;
  std::optional<WarpSpec> warp;
};

// Facts 9.4: `samples` rows of the past, each `stride` frames apart.
struct HistorySpec {
  int64_t axis = 0;  // of the graph input
  int64_t size = 1;  // extent of one row along that axis
  int64_t stride = 1;
  int64_t delay = 0;
  bool maximum = false;  // of each group of `stride` rows, instead of its first row
};

// Exactly one of `sources` (more than one: stacked along axis 0), `feedback` and `from` is given.
struct InputSpec {
  std::string name;       // of the graph input
  int line = 0;           // in the pipeline file, for messages
  bool optional = false;  // the graph may lack it
  std::vector<SourceSpec> sources;
  std::string feedback;  // an output slice of the previous frame, or "slice[start:stop]"
  std::string from;      // "stage.slice": of an earlier stage, this frame
  std::optional<HistorySpec> history;
  double scale = 1;
  double offset = 0;
};

struct NamedRange {
  std::string name;
  int64_t start = 0;
  int64_t stop = 0;
};

struct StageSpec {
  std::string name;
  std::string file;  // empty: the ONNX file the compiler was given
  std::vector<InputSpec> inputs;
  std::map<std::string, std::vector<NamedRange>, std::less<>> slices;  // by output

  const InputSpec* find_input(std::string_view input) const;
};

struct ValueRange {
  double minimum = 0;
  double maximum = 0;
};

struct Pipeline {
  std::string name;
  ModelRole role = ModelRole::kOther;
  std::vector<DeviceClass> device_classes;
  std::vector<StageSpec> stages;                          // at least one
  std::map<std::string, ValueRange, std::less<>> ranges;  // by slice
};

// Unknown keys, wrong types and impossible values are refused (kInvalidArgument) with the key and
// the line. `file_name` stands for the text in messages.
Result<Pipeline> parse_pipeline(std::string_view text, const std::string& file_name);
Result<Pipeline> read_pipeline(const std::filesystem::path& path);

// What an ONNX file is compiled with where no pipeline is given: one stage, no sources, every
// device class.
Pipeline plain_pipeline(const std::filesystem::path& onnx);

}  // namespace modeld::compile
