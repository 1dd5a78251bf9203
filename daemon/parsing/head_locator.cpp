#include "daemon/parsing/head_locator.h"

#include <algorithm>
#include <optional>

namespace modeld::parsing {
namespace {

Error refused(std::string_view head, std::string_view what, std::string expected,
              std::string found) {
  std::string message = "output head '";
  message.append(head).append("' ").append(what);
  return Error(ErrorCode::kRefused, std::move(message))
      .expecting(std::move(expected), std::move(found));
}

Status check_bounds(const OutputContract& output, const OutputSlice& slice) {
  if (output.type.dtype != DType::kFloat32) {
    return refused(slice.name, "is not of the type parsers read", "f32", to_string(output.type));
  }
  const auto total = checked_elements(output.type.shape);
  if (total && slice.start >= 0 && slice.start <= slice.stop && slice.stop <= *total) return {};
  return refused(slice.name, "lies outside its output",
                 "a range inside '" + output.name + "' " + to_string(output.type),
                 std::to_string(slice.start) + ":" + std::to_string(slice.stop));
}

// Index of the rule of that name.
std::optional<size_t> find_rule(std::span<const HeadRule> rules, std::string_view name) {
  for (size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].name == name) return i;
  }
  return std::nullopt;
}

bool has_size(const HeadRule& rule, size_t size) {
  const auto& others = rule.other_sizes;
  return size != 0 &&
         (size == rule.size || std::find(others.begin(), others.end(), size) != others.end());
}

Status place_head(const HeadRule& rule, const OutputContract& output, size_t output_index,
                  const OutputSlice& slice, HeadPlace& place) {
  MODELD_TRY(check_bounds(output, slice));
  if (place.size != 0) return refused(rule.name, "is named twice", "one", "two");
  const auto size = static_cast<size_t>(slice.stop - slice.start);
  if (!has_size(rule, size)) {
    std::string sizes = std::to_string(rule.size);
    for (const size_t other : rule.other_sizes) {
      if (other != 0) sizes += " or " + std::to_string(other);
    }
    return refused(rule.name, "has an unknown size", sizes + " elements",
                   std::to_string(size) + " elements");
  }
  place = {output_index, static_cast<size_t>(slice.start), size};
  return {};
}

}  // namespace

Result<std::vector<HeadPlace>> locate_heads(std::span<const OutputContract> outputs,
                                            std::span<const HeadRule> rules,
                                            std::vector<std::string>& ignored) {
  std::vector<HeadPlace> places(rules.size());
  for (size_t index = 0; index < outputs.size(); ++index) {
    for (const OutputSlice& slice : outputs[index].slices) {
      const auto rule = find_rule(rules, slice.name);
      if (!rule) {
        ignored.push_back(slice.name);
        continue;
      }
      MODELD_TRY(place_head(rules[*rule], outputs[index], index, slice, places[*rule]));
    }
  }
  for (size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].required && places[i].size == 0) {
      return refused(rules[i].name, "is missing", std::to_string(rules[i].size) + " elements",
                     "no slice of that name");
    }
  }
  return places;
}

}  // namespace modeld::parsing
