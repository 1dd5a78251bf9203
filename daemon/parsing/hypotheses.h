// Heads with several hypotheses: rows of means, log-deviations and logits, of which the heaviest
// row is taken. Source: facts 4.2, MDN with in_N > 1.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace modeld::parsing {

// Row r has `values` means, as many log-deviations, and one logit per selection at its end.
struct HypothesisShape {
  size_t rows = 0;  // at most kMaxHypotheses
  size_t values = 0;
  size_t selections = 0;

  constexpr size_t row_size() const { return 2 * values + selections; }
  constexpr size_t size() const { return rows * row_size(); }
};
constexpr size_t kMaxHypotheses = 8;

constexpr HypothesisShape kPlanHypotheses{5, 495, 1};
constexpr HypothesisShape kLeadHypotheses{2, 24, 3};

using HypothesisWeights = std::array<float, kMaxHypotheses>;
using HypothesisOrder = std::array<size_t, kMaxHypotheses>;

// The softmax of one selection's logits, over the rows; all NaN if one of them is.
HypothesisWeights hypothesis_weights(std::span<const float> raw, const HypothesisShape& shape,
                                     size_t selection);

// Rows as a stable ascending sort, reversed, puts them: heaviest first, the last of equals before
// the others, NaN heaviest of all.
HypothesisOrder heaviest_first(std::span<const float> weights);

// The row the original takes for `selection`. With one selection it has sorted the rows before it
// picks, so that the first of equals wins; with several, the last.
size_t chosen_hypothesis(std::span<const float> raw, const HypothesisShape& shape,
                         size_t selection);

// What the original's parser leaves in the raw head, in which it works: weights over the logits,
// and with one selection the rows' means sorted by weight (their deviations and weights are not
// moved).
void overwrite_hypotheses(std::span<float> raw, const HypothesisShape& shape);

}  // namespace modeld::parsing
