// The bytes of openpilot's frame-buffer protocol (facts 1.2 to 1.6): buffer records, notification
// packets, the socket path. Pure; sockets and mappings are elsewhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "warp/nv12_layout.h"

namespace modeld::ipc {

constexpr size_t kMaxBuffers = 128;

// "List the streams": the newest request, and the numbers older servers answer to (1.2).
constexpr uint32_t kListRequest = 0xffffffff;
constexpr uint32_t kListRequestOldest = 7;
constexpr uint32_t kListRequestOld = 4;
constexpr size_t kMaxListedStreams = 64;

// A frame id lies behind the picture, in the last bytes of the mapping.
constexpr uint64_t kTrailingIdBytes = sizeof(uint64_t);

// The memory image of one buffer record, without the fields that mean something to the server only
// (its addresses and descriptor numbers).
struct BufferRecord {
  uint64_t length = 0;  // usable bytes
  uint64_t mmap_length = 0;
  Nv12Layout layout;
  uint64_t server_id = 0;
  uint64_t index = 0;
  uint32_t type = 0;
};

enum class RecordFormat : uint8_t {
  kNewest,  // 112 bytes
  kOlder,   // 136 bytes, with room for OpenCL handles
};

constexpr size_t record_bytes(RecordFormat format) {
  return format == RecordFormat::kNewest ? 112 : 136;
}

// The records of one reply of `bytes` that came with `num_fds` descriptors. All must be of `type`
// and of one server, numbered in order, with a layout that fits their length; the first that is not
// is named.
Result<std::vector<BufferRecord>> decode_records(std::span<const std::byte> bytes, size_t num_fds,
                                                 uint32_t type);

// Appends one record.
void encode_record(const BufferRecord& record, RecordFormat format, std::vector<std::byte>& out);

struct Notification {
  uint64_t server_id = 0;
  uint64_t index = 0;
  uint32_t frame_id = 0;
  uint64_t timestamp_sof_ns = 0;
  uint64_t timestamp_eof_ns = 0;
  bool valid = false;  // means nothing; see FrameInfo
};

constexpr size_t kNotificationBytes = 48;
constexpr size_t kOldNotificationBytes = 40;  // before 2023-07, without `valid`

// Nothing if the packet has neither size.
std::optional<Notification> decode_notification(std::span<const std::byte> packet);
std::array<std::byte, kNotificationBytes> encode_notification(const Notification& notification);

// kInvalidArgument for a name that cannot be part of a path: not made of [A-Za-z0-9_.-], or empty.
Status check_path_name(std::string_view name);

// The path rule: `<dir>/[<prefix>_]visionipc_<server>`. `prefix` is what the environment variable
// OPENPILOT_PREFIX holds, empty for none. Names that are not made of [A-Za-z0-9_.-] or that make
// the path too long are refused.
Result<std::filesystem::path> vision_socket_path(const std::filesystem::path& dir,
                                                 std::string_view prefix, std::string_view server);

// $OPENPILOT_PREFIX, empty if it is not set.
std::string openpilot_prefix();

}  // namespace modeld::ipc
