// The standard Cap'n Proto stream framing (facts 2.3): U32 segment count - 1, U32 segment sizes in
// words, padding to 8 bytes, segments. Reads sizes only; touches no pointer of the message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "runtime/base/result.h"

namespace modeld::ipc {

// Far above what real builders make (their segments double in size) and far below what a table of
// segments could cost.
constexpr uint32_t kMaxSegments = 512;

struct Framing {
  uint32_t segments = 0;
  uint64_t total_bytes = 0;  // framing and segments
};

// Reads the framing at the start of `bytes`. Nothing if `bytes` ends before the message does (a
// truncated message); kCorrupt for a segment count above kMaxSegments, an empty first segment or
// more than `max_bytes` in all.
Result<std::optional<Framing>> read_framing(std::span<const std::byte> bytes, uint64_t max_bytes);

// Bytes of the segment table in front of the segments, padding included.
uint64_t framing_table_bytes(uint64_t segments);

// How far the message at the start of `bytes` reaches whatever its size and number of segments: to
// pass over one that breaks a limit. Nothing if it reaches beyond `bytes` or claims more than
// kMaxMeasuredSegments (then it is no message at all).
constexpr uint64_t kMaxMeasuredSegments = uint64_t{1} << 17;
struct FramingExtent {
  uint64_t segments = 0;
  uint64_t total_bytes = 0;
};
std::optional<FramingExtent> measure_framing(std::span<const std::byte> bytes);

}  // namespace modeld::ipc
