#include "daemon/driving/publish_state.h"

#include <algorithm>

namespace modeld::driving {
namespace {

constexpr std::array<float, 5> kBrake5Thresholds{.05f, .05f, .15f, .15f, .15f};
constexpr std::array<float, 2> kBrake3Thresholds{.7f, .7f};
constexpr uint32_t kConfidencePeriod = 40;  // frames between two rows: 2 s
constexpr double kGreenBelow = 0.01165;
constexpr double kYellowBelow = 0.06157;

template <size_t N>
void push(std::array<float, N>& fifo, float newest) {
  std::copy(fifo.begin() + 1, fifo.end(), fifo.begin());
  fifo.back() = newest;
}

template <size_t N>
bool all_above(const std::array<float, N>& values, const std::array<float, N>& thresholds) {
  return std::equal(values.begin(), values.end(), thresholds.begin(),
                    [](float value, float threshold) { return value > threshold; });
}

// Probability that the driver takes over in any way within horizon k.
float any_disengagement(const ModelOutputs& outputs, size_t k) {
  const auto& meta = outputs.meta;
  const MetaLayout& at = *outputs.meta_layout;
  return 1.0f - (1.0f - meta[at.brake_disengage(k)]) * (1.0f - meta[at.gas_disengage(k)]) *
                    (1.0f - meta[at.steer_override(k)]);
}

void append_row(const ModelOutputs& outputs, std::array<float, 25>& rows) {
  std::copy(rows.begin() + kMetaHorizons, rows.end(), rows.begin());
  float before = 0.0f;
  for (size_t k = 0; k < kMetaHorizons; ++k) {
    // Given that it did not happen before horizon k.
    const float any = any_disengagement(outputs, k);
    rows[rows.size() - kMetaHorizons + k] = k == 0 ? any : (any - before) / (1.0f - before);
    before = any;
  }
}

// The diagonal: what each older row said about the two seconds that are now.
Confidence judge(const std::array<float, 25>& rows) {
  double score = 0.0;
  for (size_t i = 0; i < kMetaHorizons; ++i) {
    score += static_cast<double>(rows[i * kMetaHorizons + kMetaHorizons - 1 - i]) / kMetaHorizons;
  }
  if (score < kGreenBelow) return Confidence::kGreen;
  return score < kYellowBelow ? Confidence::kYellow : Confidence::kRed;
}

}  // namespace

void PublishState::update(uint32_t frame_id, const ModelOutputs& outputs) {
  push(hard_brakes_5_, outputs.meta[outputs.meta_layout->hard_brake_5(0)]);
  push(hard_brakes_3_, outputs.meta[outputs.meta_layout->hard_brake_3(0)]);
  hard_brake_predicted_ =
      all_above(hard_brakes_5_, kBrake5Thresholds) && all_above(hard_brakes_3_, kBrake3Thresholds);
  if (frame_id % kConfidencePeriod == 0) append_row(outputs, disengagements_);
  confidence_ = judge(disengagements_);
}

}  // namespace modeld::driving
