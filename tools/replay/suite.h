// A folder of routes with the answers that are expected of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"

namespace modeld::replay {

// One route of a suite: a folder of its own with the route's files (or its segments' folders) and
// the expected answers, `expected.zst`, `expected.bz2` or `expected`.
struct SuiteCase {
  std::string name;  // of the folder
  std::filesystem::path route;
  std::filesystem::path expected;  // empty: none yet
};

constexpr size_t kMaxSuiteCases = 100'000;

// The folders in `folder`, by name. kNotFound if there is none; hidden ones are no cases.
Result<std::vector<SuiteCase>> find_suite(const std::filesystem::path& folder);

// "2/4": the second of four parts.
struct Shard {
  uint32_t number = 1;  // from 1
  uint32_t count = 1;

  // Case `index` of the whole suite, sorted by name, is this shard's. Depends on nothing else, so
  // that every case is in exactly one shard, whoever runs it and how often.
  bool holds(size_t index) const { return index % count == number - 1; }
};

constexpr uint32_t kMaxShards = 10'000;
Result<Shard> parse_shard(const std::string& text);

}  // namespace modeld::replay
