#include "tools/samples/weight_maker.h"

#include <cmath>
#include <span>

namespace modeld::samples {

std::vector<float> WeightMaker::plain(size_t rows, size_t fan_in, double gain) {
  return around(rows * fan_in, 0, gain / std::sqrt(static_cast<double>(fan_in)));
}

std::vector<float> WeightMaker::centred(size_t rows, size_t fan_in, double gain) {
  std::vector<float> weights = plain(rows, fan_in, gain);
  for (size_t row = 0; row < rows; ++row) {
    const std::span<float> values(weights.data() + row * fan_in, fan_in);
    double sum = 0;
    for (const float value : values) sum += value;
    const double mean = sum / static_cast<double>(fan_in);
    for (float& value : values) value = static_cast<float>(value - mean);
  }
  return weights;
}

std::vector<float> WeightMaker::near_identity(size_t channels, size_t size, double gain) {
  const size_t taps = size * size;
  std::vector<float> weights = plain(channels, taps, gain);
  for (size_t channel = 0; channel < channels; ++channel) {
    weights[channel * taps + taps / 2] += 1.0F;
  }
  return weights;
}

std::vector<float> WeightMaker::around(size_t count, double mean, double deviation) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(mean + deviation * random_.normal());
  return values;
}

}  // namespace modeld::samples
