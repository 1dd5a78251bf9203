#include "ipc/schema/event_log.h"

#include <cstring>

#include "ipc/schema/framing.h"
#include "ipc/transport/transport.h"

namespace modeld::ipc {
namespace {

// The root pointer of an Event: a struct right behind it, two words of data, one pointer.
constexpr uint64_t kEventRoot = 0x0001'0002'0000'0000;

// A damaged log is searched byte by byte: what can be told from two words comes first.
bool starts_like_an_event(std::span<const std::byte> bytes) {
  uint32_t further_segments = 0;
  uint64_t root = 0;
  if (bytes.size() < sizeof(further_segments)) return false;
  std::memcpy(&further_segments, bytes.data(), sizeof(further_segments));
  if (further_segments >= kMaxSegments) return false;
  const uint64_t table = framing_table_bytes(uint64_t{further_segments} + 1);
  if (bytes.size() < table + sizeof(root)) return false;
  std::memcpy(&root, bytes.data() + table, sizeof(root));
  if (root != kEventRoot) return false;
  const auto framing = read_framing(bytes, kMaxMessageBytes);
  return framing.ok() && *framing && (*framing)->total_bytes >= table + sizeof(root);
}

}  // namespace

void EventLog::pass_over(uint64_t bytes) {
  rest_ = rest_.subspan(bytes);
  losses_.skipped_bytes += bytes;
}

bool EventLog::recover() {
  const auto extent = measure_framing(rest_);
  if (extent && (extent->total_bytes == rest_.size() ||
                 starts_like_an_event(rest_.subspan(extent->total_bytes)))) {
    ++(extent->segments > kMaxSegments          ? losses_.too_many_segments
       : extent->total_bytes > kMaxMessageBytes ? losses_.too_large
                                                : losses_.malformed);
    pass_over(extent->total_bytes);
    return true;
  }
  for (uint64_t at = 1; at < rest_.size(); ++at) {
    if (!starts_like_an_event(rest_.subspan(at))) continue;
    ++losses_.malformed;
    pass_over(at);
    return true;
  }
  return false;
}

std::optional<std::span<const std::byte>> EventLog::next() {
  while (!rest_.empty()) {
    const auto framing = read_framing(rest_, kMaxMessageBytes);
    if (framing.ok() && *framing) {
      const auto message = rest_.first((*framing)->total_bytes);
      rest_ = rest_.subspan((*framing)->total_bytes);
      ++messages_;
      return message;
    }
    if (recover()) continue;
    if (framing.ok()) {
      losses_.truncated_bytes = rest_.size();
    } else {
      ++losses_.malformed;
      losses_.skipped_bytes += rest_.size();
    }
    rest_ = {};
  }
  return std::nullopt;
}

}  // namespace modeld::ipc
