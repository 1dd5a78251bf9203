// The driver-monitoring look-alike.
#pragma once

#include "tools/samples/layers.h"
#include "tools/samples/output_slices.h"

namespace modeld::samples {

constexpr int64_t kMonitoringWidth = 1440;
constexpr int64_t kMonitoringHeight = 960;
constexpr int64_t kMonitoringOutputs = 553;

// `input_img` uint8 (1, 1382400) luma and `calib` float32 (1, 3) -> (1, kMonitoringOutputs)
// float16: the heads of facts/openpilot-interop 4.7 with sleep_prob, then 512 features.
Value monitoring_network(GraphBuilder& graph, const Value& input_img, const Value& calib);

std::vector<HeadSlice> monitoring_slices();

}  // namespace modeld::samples
