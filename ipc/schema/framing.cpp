#include "ipc/schema/framing.h"

#include <cstring>
#include <string>

#include "runtime/base/checked.h"

namespace modeld::ipc {
namespace {

constexpr uint64_t kWordBytes = 8;

uint32_t load_u32(std::span<const std::byte> bytes, uint64_t offset) {
  uint32_t value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

}  // namespace

uint64_t framing_table_bytes(uint64_t segments) {
  return align_up(sizeof(uint32_t) * (1 + segments), kWordBytes);
}

std::optional<FramingExtent> measure_framing(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(uint32_t)) return std::nullopt;
  const uint64_t segments = uint64_t{load_u32(bytes, 0)} + 1;
  if (segments > kMaxMeasuredSegments) return std::nullopt;
  uint64_t total = framing_table_bytes(segments);
  if (total > bytes.size()) return std::nullopt;
  for (uint64_t i = 0; i < segments; ++i) {
    total += load_u32(bytes, sizeof(uint32_t) * (1 + i)) * kWordBytes;
    if (total > bytes.size()) return std::nullopt;
  }
  return FramingExtent{segments, total};
}

Result<std::optional<Framing>> read_framing(std::span<const std::byte> bytes, uint64_t max_bytes) {
  if (bytes.size() < sizeof(uint32_t)) return std::optional<Framing>();
  const uint64_t segments = uint64_t{load_u32(bytes, 0)} + 1;
  if (segments > kMaxSegments) {
    return Error(ErrorCode::kCorrupt, "message with too many segments")
        .expecting("at most " + std::to_string(kMaxSegments), std::to_string(segments));
  }
  const uint64_t table_bytes = framing_table_bytes(segments);
  if (bytes.size() < table_bytes) return std::optional<Framing>();
  if (load_u32(bytes, sizeof(uint32_t)) == 0) {
    return Error(ErrorCode::kCorrupt, "message without a root: its first segment is empty");
  }
  uint64_t total = table_bytes;  // at most 512 segments of 2^35 bytes: cannot wrap
  for (uint64_t i = 0; i < segments; ++i) {
    total += load_u32(bytes, sizeof(uint32_t) * (1 + i)) * kWordBytes;
  }
  if (total > max_bytes) {
    return Error(ErrorCode::kCorrupt, "message larger than the limit")
        .expecting("at most " + std::to_string(max_bytes) + " bytes", std::to_string(total));
  }
  if (total > bytes.size()) return std::optional<Framing>();
  return std::optional<Framing>(Framing{static_cast<uint32_t>(segments), total});
}

}  // namespace modeld::ipc
