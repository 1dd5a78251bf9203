#include "daemon/engine/raw_predictions.h"

#include <algorithm>

#include "daemon/engine/output_floats.h"

namespace modeld {

RawPredictions::RawPredictions(const std::vector<OutputContract>& outputs) {
  std::vector<size_t> sizes;
  size_t total = 0;
  for (const OutputContract& output : OutputFloats::head_contracts(outputs)) {
    sizes.push_back(output.slices.empty() ? 0 : static_cast<size_t>(output.type.elements()));
    total += sizes.back();
  }
  values_.resize(total);
  std::span<float> rest(values_);
  for (const size_t size : sizes) {
    spans_.push_back(rest.first(size));
    rest = rest.subspan(size);
  }
}

void RawPredictions::copy(std::span<const std::span<const float>> outputs) {
  for (size_t i = 0; i < spans_.size(); ++i) {
    std::copy_n(outputs[i].begin(), spans_[i].size(), spans_[i].begin());
  }
}

}  // namespace modeld
