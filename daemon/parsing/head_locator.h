// Finds a model's output heads by the names in its contract.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/artifact/contract.h"
#include "runtime/base/result.h"

namespace modeld::parsing {

// Where a head lies in the outputs of one run.
struct HeadPlace {
  size_t output = 0;
  size_t start = 0;
  size_t size = 0;
};

// What a parser knows about a head.
struct HeadRule {
  std::string_view name;
  size_t size = 0;
  bool required = true;
  std::array<size_t, 2> other_sizes{};  // of earlier generations; 0: none
};

// The places of `rules`, in their order; a missing optional head has size 0. kRefused naming the
// head: missing, of another size (several model generations differ there), named twice, or outside
// its output. Heads of other names are added to `ignored`.
Result<std::vector<HeadPlace>> locate_heads(std::span<const OutputContract> outputs,
                                            std::span<const HeadRule> rules,
                                            std::vector<std::string>& ignored);

}  // namespace modeld::parsing
