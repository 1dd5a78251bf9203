// Two logs of the daemons' messages, field by field. Rules of equality: interoperability facts 8.5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/result.h"

namespace modeld::replay {

// Frame ids from the first to the second, both included.
using IdRange = std::pair<uint32_t, uint32_t>;

struct CompareOptions {
  // Numbers differ if |a - b| > max(tolerance, tolerance * max(|a|, |b|)). 0: the same value.
  double tolerance = 0;
  // Only frames in these ranges: of modelV2 and its companions, and of driverStateV2. Nothing: all.
  std::optional<IdRange> road_ids;
  std::optional<IdRange> cabin_ids;
};

// One field over all frames. A list of numbers is one field; of structs, one per position.
struct FieldResult {
  std::string field;         // "modelV2.laneLines[1].y"
  uint64_t values = 0;       // compared
  uint64_t differing = 0;    // of them
  uint32_t first_frame = 0;  // frame id of the first difference
  double worst = 0;          // largest |a - b| of numbers
  std::string reference;     // at the first difference
  std::string found;
};

struct Comparison {
  uint64_t messages = 0;            // pairs compared
  uint64_t broken = 0;              // of either log, not decodable
  std::vector<FieldResult> fields;  // in the order of the schema; all of them
  // Kind and frame id of messages without a partner.
  std::vector<std::pair<std::string, uint32_t>> missing;  // in the reference only
  std::vector<std::pair<std::string, uint32_t>> extra;    // in the other one only

  bool same() const;
};

// Fields that tell a machine's clock or how long something took; nothing else is left out.
std::span<const std::string_view> ignored_fields();

// modelV2, drivingModelData, cameraOdometry and driverStateV2 of two unpacked logs, paired by kind
// and frame id (repeated ids in their order).
Comparison compare_logs(std::span<const std::byte> reference, std::span<const std::byte> found,
                        const CompareOptions& options);

}  // namespace modeld::replay
