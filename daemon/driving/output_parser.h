// Turns the road model's raw outputs into ModelOutputs. Source: facts 4.2 and 4.3.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "daemon/driving/model_outputs.h"
#include "daemon/parsing/activations.h"
#include "daemon/parsing/head_locator.h"

namespace modeld::driving {

// Immutable after creation; parse() may run on any thread.
class OutputParser {
 public:
  // From the outputs of an artifact's contract; heads may be spread over several outputs (a split
  // vision and policy network). `plan` and `lead` may be of one hypothesis or, as in earlier
  // generations, of five and two; `meta` may be of any width of kMetaLayouts. kRefused naming the
  // head that is missing, of an unknown size, named twice or out of range. Only `action` and the
  // heads of earlier generations (`sim_pose`, `desired_curvature`, `lat_planner_solution`) are
  // optional.
  static Result<OutputParser> create(std::span<const OutputContract> outputs);

  // `raw` holds one span per output of the contract, each as long as its type says. Allocates
  // nothing. Whatever the network said is passed on, NaN too: validity is judged elsewhere.
  void parse(std::span<const std::span<const float>> raw, ModelOutputs& out) const;

  // `raw` as the original's parser leaves it, which works in place: probabilities over the logits
  // of the two softmax heads and of hypotheses, and the plan's means sorted by weight.
  // rawPredictions carries it so. `outputs` must be what parse() made of the same `raw`.
  void write_back(const ModelOutputs& outputs, std::span<const std::span<float>> raw) const;

  // Whether the daemons of this network's generation copied rawPredictions before they parsed: it
  // carries no write_back() then (interoperability facts 5.1, era A).
  bool copies_raw_first() const { return exp_limit_ == parsing::kNoExpLimit; }

  // Names of slices nobody here reads (hidden_state, pad, heads of other generations).
  const std::vector<std::string>& ignored_heads() const { return ignored_; }

 private:
  OutputParser() = default;

  std::vector<parsing::HeadPlace> places_;
  float exp_limit_ = 0;
  std::vector<std::string> ignored_;
};

}  // namespace modeld::driving
