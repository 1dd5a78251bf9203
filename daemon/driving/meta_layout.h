// Where the entries of the `meta` head lie: its width tells the generation of the network. Source:
// interoperability facts 4.1; the 53-wide one: openpilot at the end of 2024.
#pragma once

#include <array>
#include <cstddef>

namespace modeld::driving {

constexpr size_t kMetaEngaged = 0;
// Horizon k = 0 .. 4 is 2, 4, ... 10 s.
constexpr size_t kMetaHorizons = 5;

// Pedal presses, one entry per time. With six of them they are 0, 2, ... 10 s, with five 2 ... 10
// s.
struct MetaPresses {
  size_t first = 0;
  size_t step = 0;
  size_t count = 0;  // 0: this generation does not predict them
};

struct MetaLayout {
  size_t size = 0;
  size_t step = 0;  // between two horizons of what follows
  MetaPresses gas_press;
  MetaPresses brake_press;

  constexpr size_t gas_disengage(size_t k) const { return 1 + step * k; }
  constexpr size_t brake_disengage(size_t k) const { return 2 + step * k; }
  constexpr size_t steer_override(size_t k) const { return 3 + step * k; }
  constexpr size_t hard_brake_3(size_t k) const { return 4 + step * k; }
  constexpr size_t hard_brake_4(size_t k) const { return 5 + step * k; }
  constexpr size_t hard_brake_5(size_t k) const { return 6 + step * k; }
};

// Newest first. What is left in each are blinkers, which no message carries.
constexpr std::array<MetaLayout, 3> kMetaLayouts{{
    {55, 6, {31, 4, 6}, {32, 4, 6}},
    {53, 8, {7, 8, 5}, {8, 8, 5}},
    {48, 7, {7, 7, 5}, {}},
}};
constexpr size_t kMaxMetaSize = kMetaLayouts[0].size;

}  // namespace modeld::driving
