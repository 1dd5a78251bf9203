#include "daemon/engine/input_plan.h"

#include <algorithm>
#include <string>

namespace modeld {
namespace {

std::string list_sources(std::span<const SourceRule> offered) {
  std::string text = "one of";
  for (const SourceRule& rule : offered) text += " " + std::string(rule.source);
  return text;
}

Status check_input(const Contract& contract, const InputContract& input, const SourceRule& rule) {
  const std::string what = "input " + input.name + " (source " + input.source + ")";
  if (input.role != rule.role) {
    return Error(ErrorCode::kRefused, what + " has another role")
        .expecting(std::string(to_string(rule.role)), std::string(to_string(input.role)));
  }
  if (rule.role == InputRole::kFrame) {
    if (input.type.dtype != DType::kNv12 || contract.find_camera(input.name) == nullptr) {
      return Error(ErrorCode::kRefused, what + " is not a camera frame of the contract")
          .expecting("nv12 with a camera", to_string(input.type));
    }
    return {};
  }
  if (input.type.dtype != DType::kFloat32 || input.type.elements() != rule.elements) {
    return Error(ErrorCode::kRefused, what + " has another type")
        .expecting(std::to_string(rule.elements) + " values of f32", to_string(input.type));
  }
  return {};
}

}  // namespace

Result<std::vector<std::optional<size_t>>> plan_inputs(const Contract& contract,
                                                       std::span<const SourceRule> offered) {
  std::vector<std::optional<size_t>> plan(offered.size());
  for (size_t i = 0; i < contract.inputs.size(); ++i) {
    const InputContract& input = contract.inputs[i];
    const auto rule = std::find_if(offered.begin(), offered.end(), [&](const SourceRule& known) {
      return known.source == input.source;
    });
    if (rule == offered.end()) {
      return Error(ErrorCode::kRefused, "input " + input.name + " has a source this daemon lacks")
          .expecting(list_sources(offered), input.source.empty() ? "none" : input.source);
    }
    MODELD_TRY(check_input(contract, input, *rule));
    std::optional<size_t>& place = plan[static_cast<size_t>(rule - offered.begin())];
    if (place) {
      return Error(ErrorCode::kRefused, "source " + input.source + " is asked for twice")
          .expecting("one input", contract.inputs[*place].name + " and " + input.name);
    }
    place = i;
  }
  for (size_t i = 0; i < offered.size(); ++i) {
    if (offered[i].required && !plan[i]) {
      return Error(ErrorCode::kRefused, "the model lacks an input")
          .expecting("source " + std::string(offered[i].source), "no input with it");
    }
  }
  return plan;
}

}  // namespace modeld
