#include "daemon/parsing/hypotheses.h"

#include <algorithm>
#include <cmath>

#include "daemon/parsing/activations.h"

namespace modeld::parsing {
namespace {

// The order of a sort that puts NaN last.
bool lighter(float a, float b) {
  return a < b || (std::isnan(b) && !std::isnan(a));
}

}  // namespace

HypothesisWeights hypothesis_weights(std::span<const float> raw, const HypothesisShape& shape,
                                     size_t selection) {
  const size_t first = 2 * shape.values + selection;
  const auto logit = [&](size_t row) { return raw[row * shape.row_size() + first]; };
  float most = logit(0);
  for (size_t row = 0; row < shape.rows; ++row) {
    if (logit(row) > most || std::isnan(logit(row))) most = logit(row);
  }
  HypothesisWeights weights{};
  float sum = 0.0f;
  for (size_t row = 0; row < shape.rows; ++row) {
    weights[row] = safe_exp(logit(row) - most);
    sum += weights[row];
  }
  for (size_t row = 0; row < shape.rows; ++row) weights[row] /= sum;
  return weights;
}

HypothesisOrder heaviest_first(std::span<const float> weights) {
  HypothesisOrder order{};
  // Insertion from the back keeps later rows before equal earlier ones.
  for (size_t row = 0; row < weights.size(); ++row) {
    size_t place = row;
    while (place > 0 && !lighter(weights[row], weights[order[place - 1]])) {
      order[place] = order[place - 1];
      --place;
    }
    order[place] = row;
  }
  return order;
}

size_t chosen_hypothesis(std::span<const float> raw, const HypothesisShape& shape,
                         size_t selection) {
  const HypothesisWeights weights = hypothesis_weights(raw, shape, selection);
  const HypothesisOrder order = heaviest_first(std::span(weights).first(shape.rows));
  if (shape.selections > 1) return order[0];
  HypothesisWeights sorted{};
  for (size_t i = 0; i < shape.rows; ++i) sorted[i] = weights[order[i]];
  return order[heaviest_first(std::span(sorted).first(shape.rows))[0]];
}

void overwrite_hypotheses(std::span<float> raw, const HypothesisShape& shape) {
  const auto row = [&](size_t index) { return raw.subspan(index * shape.row_size()); };
  HypothesisWeights weights{};
  for (size_t selection = 0; selection < shape.selections; ++selection) {
    weights = hypothesis_weights(raw, shape, selection);
    for (size_t i = 0; i < shape.rows; ++i) row(i)[2 * shape.values + selection] = weights[i];
  }
  if (shape.selections > 1) return;
  HypothesisOrder order = heaviest_first(std::span(weights).first(shape.rows));
  // Place by place; what is swapped away is looked for where it went.
  for (size_t place = 0; place < shape.rows; ++place) {
    if (order[place] == place) continue;
    const auto there = row(place).first(shape.values);
    std::swap_ranges(there.begin(), there.end(), row(order[place]).begin());
    for (size_t later = place + 1; later < shape.rows; ++later) {
      if (order[later] == place) order[later] = order[place];
    }
  }
}

}  // namespace modeld::parsing
