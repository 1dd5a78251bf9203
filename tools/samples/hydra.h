// The "hydra" of small heads on shared features (facts/test-material, "Layers").
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tools/samples/head_plan.h"
#include "tools/samples/layers.h"
#include "tools/samples/output_slices.h"

namespace modeld::samples {

// Linear to 32, ReLU, a residual block of two layers, Linear to the plan's width: (1, in) ->
// (1, width).
Value hydra_head(LayerContext context, const Value& features, int64_t in, const HeadPlan& plan);

// Where heads of these widths lie when joined in this order.
std::vector<HeadSlice> consecutive_slices(
    std::span<const std::pair<std::string, int64_t>> names_and_widths);

}  // namespace modeld::samples
