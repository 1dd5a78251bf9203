// The driver-monitoring networks of 2021: one driver's face, probabilities already in the graph.
// Their outputs have no names of their own; config/pipelines/monitoring_2021.toml gives them these.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "daemon/monitoring/driver_outputs.h"
#include "daemon/parsing/head_locator.h"

namespace modeld::monitoring {

// The slice by which such a network is told from the others.
constexpr std::string_view kSingleFaceHead = "face_descs";

constexpr std::array<parsing::HeadRule, 7> kSingleDriverRules{{{kSingleFaceHead, 12},
                                                               {"face_prob", 1},
                                                               {"left_eye_prob", 1},
                                                               {"right_eye_prob", 1},
                                                               {"left_blink_prob", 1},
                                                               {"right_blink_prob", 1},
                                                               {"sunglasses_prob", 1}}};

// Where the probabilities of rules 1 and up go.
constexpr std::array<float DriverOutputs::*, 6> kSingleDriverValues{
    &DriverOutputs::face_prob,        &DriverOutputs::left_eye_prob,
    &DriverOutputs::right_eye_prob,   &DriverOutputs::left_blink_prob,
    &DriverOutputs::right_blink_prob, &DriverOutputs::sunglasses_prob};

// ln(1 + e^x), what these networks' deviations are made with; finite for every finite x.
inline float softplus(float x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

}  // namespace modeld::monitoring
