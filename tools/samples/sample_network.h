// Look-alikes of openpilot's networks with made-up weights: same inputs, outputs, metadata, layer
// kinds and cost, so that everything around a real network can be run and measured without one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace modeld::samples {

// The driving look-alike comes whole, with its histories in the graph, and as two halves; the
// weights are the same. The small one is another network with the same inputs and outputs, for a
// fallback.
enum class SampleKind {
  kDriving,
  kDrivingStateful,
  kDrivingVision,
  kDrivingPolicy,
  kDrivingSmall,
  kMonitoring
};

// "driving", "driving-stateful", "driving-vision", "driving-policy", "driving-small", "monitoring"
std::string_view to_string(SampleKind kind);
std::optional<SampleKind> parse_sample_kind(std::string_view text);
std::vector<std::string_view> sample_kind_names();

// The ONNX file (float16 weights, opset 17). The same bytes on every call and machine.
std::string make_sample(SampleKind kind);

// make_sample() into a file, replaced atomically.
Status write_sample(SampleKind kind, const std::filesystem::path& path);

}  // namespace modeld::samples
