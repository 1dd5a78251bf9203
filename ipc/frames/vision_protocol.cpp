#include "ipc/frames/vision_protocol.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "ipc/transport/unix_listener.h"

namespace modeld::ipc {
namespace {

// Offsets in a record (1.4). Both formats agree up to the type.
constexpr size_t kLengthAt = 0;
constexpr size_t kMmapLengthAt = 8;
constexpr size_t kWidthAt = 40;
constexpr size_t kHeightAt = 48;
constexpr size_t kStrideAt = 56;
constexpr size_t kUvOffsetAt = 64;
constexpr size_t kServerIdAt = 88;
constexpr size_t kIndexAt = 96;
constexpr size_t kTypeAt = 104;

// Offsets in a notification (1.6).
constexpr size_t kPacketServerIdAt = 0;
constexpr size_t kPacketIndexAt = 8;
constexpr size_t kPacketFrameIdAt = 16;
constexpr size_t kPacketSofAt = 24;
constexpr size_t kPacketEofAt = 32;
constexpr size_t kPacketValidAt = 40;

template <typename T>
T load(std::span<const std::byte> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

template <typename T>
void store(std::span<std::byte> bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
}

Result<size_t> record_size(size_t reply_bytes, size_t num_fds) {
  if (num_fds == 0 || num_fds > kMaxBuffers) {
    return Error(ErrorCode::kCorrupt, "number of buffer descriptors out of range")
        .expecting("1 to " + std::to_string(kMaxBuffers), std::to_string(num_fds));
  }
  for (const RecordFormat format : {RecordFormat::kNewest, RecordFormat::kOlder}) {
    if (reply_bytes == num_fds * record_bytes(format)) return record_bytes(format);
  }
  return Error(ErrorCode::kCorrupt, "buffer records of an unknown size")
      .expecting("112 or 136 bytes per descriptor",
                 std::to_string(reply_bytes) + " bytes for " + std::to_string(num_fds));
}

Result<BufferRecord> decode_record(std::span<const std::byte> bytes) {
  BufferRecord record;
  record.length = load<uint64_t>(bytes, kLengthAt);
  record.mmap_length = load<uint64_t>(bytes, kMmapLengthAt);
  record.server_id = load<uint64_t>(bytes, kServerIdAt);
  record.index = load<uint64_t>(bytes, kIndexAt);
  record.type = load<uint32_t>(bytes, kTypeAt);
  MODELD_ASSIGN(
      record.layout,
      Nv12Layout::from_wire(load<uint64_t>(bytes, kWidthAt), load<uint64_t>(bytes, kHeightAt),
                            load<uint64_t>(bytes, kStrideAt), load<uint64_t>(bytes, kUvOffsetAt),
                            record.length));
  return record;
}

Status check_record(const BufferRecord& record, size_t position, uint32_t type,
                    uint64_t server_id) {
  // The picture and the id behind it must lie in the mapping; `length` is bounded by that.
  if (record.mmap_length < kTrailingIdBytes ||
      record.mmap_length - kTrailingIdBytes < record.length) {
    return Error(ErrorCode::kCorrupt, "mapping too short for the picture and its id")
        .expecting("at least " + std::to_string(record.length) + " + 8 bytes",
                   std::to_string(record.mmap_length));
  }
  if (record.index != position) {
    return Error(ErrorCode::kCorrupt, "buffers out of order")
        .expecting("index " + std::to_string(position), std::to_string(record.index));
  }
  if (record.type != type) {
    return Error(ErrorCode::kCorrupt, "a buffer of another stream")
        .expecting("type " + std::to_string(type), std::to_string(record.type));
  }
  if (record.server_id != server_id) {
    return Error(ErrorCode::kCorrupt, "buffers of different servers in one reply");
  }
  return {};
}

}  // namespace

Status check_path_name(std::string_view name) {
  const bool fits = !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  });
  if (fits) return {};
  return Error(ErrorCode::kInvalidArgument, "server name or prefix that cannot be part of a path")
      .expecting("letters, digits, _ . -", std::string(name.substr(0, kMaxSocketPath)));
}

Result<std::vector<BufferRecord>> decode_records(std::span<const std::byte> bytes, size_t num_fds,
                                                 uint32_t type) {
  MODELD_ASSIGN(const size_t size, record_size(bytes.size(), num_fds));
  std::vector<BufferRecord> records;
  records.reserve(num_fds);
  for (size_t i = 0; i < num_fds; ++i) {
    const std::string where = "buffer " + std::to_string(i);
    auto record = decode_record(bytes.subspan(i * size, size));
    if (!record.ok()) return std::move(record).error().in(where);
    const uint64_t server_id = records.empty() ? record->server_id : records.front().server_id;
    auto status = check_record(*record, i, type, server_id);
    if (!status.ok()) return std::move(status).error().in(where);
    records.push_back(*record);
  }
  return records;
}

void encode_record(const BufferRecord& record, RecordFormat format, std::vector<std::byte>& out) {
  const size_t start = out.size();
  out.resize(start + record_bytes(format), std::byte{0});
  const auto bytes = std::span(out).subspan(start);
  store(bytes, kLengthAt, record.length);
  store(bytes, kMmapLengthAt, record.mmap_length);
  store(bytes, kWidthAt, uint64_t{record.layout.width});
  store(bytes, kHeightAt, uint64_t{record.layout.height});
  store(bytes, kStrideAt, uint64_t{record.layout.stride});
  store(bytes, kUvOffsetAt, record.layout.uv_offset);
  store(bytes, kServerIdAt, record.server_id);
  store(bytes, kIndexAt, record.index);
  store(bytes, kTypeAt, record.type);
}

std::optional<Notification> decode_notification(std::span<const std::byte> packet) {
  if (packet.size() != kNotificationBytes && packet.size() != kOldNotificationBytes) {
    return std::nullopt;
  }
  Notification notification;
  notification.server_id = load<uint64_t>(packet, kPacketServerIdAt);
  notification.index = load<uint64_t>(packet, kPacketIndexAt);
  notification.frame_id = load<uint32_t>(packet, kPacketFrameIdAt);
  notification.timestamp_sof_ns = load<uint64_t>(packet, kPacketSofAt);
  notification.timestamp_eof_ns = load<uint64_t>(packet, kPacketEofAt);
  notification.valid =
      packet.size() == kNotificationBytes && packet[kPacketValidAt] != std::byte{0};
  return notification;
}

std::array<std::byte, kNotificationBytes> encode_notification(const Notification& notification) {
  std::array<std::byte, kNotificationBytes> packet{};
  store<uint64_t>(packet, kPacketServerIdAt, notification.server_id);
  store<uint64_t>(packet, kPacketIndexAt, notification.index);
  store<uint32_t>(packet, kPacketFrameIdAt, notification.frame_id);
  store<uint64_t>(packet, kPacketSofAt, notification.timestamp_sof_ns);
  store<uint64_t>(packet, kPacketEofAt, notification.timestamp_eof_ns);
  packet[kPacketValidAt] = std::byte{notification.valid};
  return packet;
}

Result<std::filesystem::path> vision_socket_path(const std::filesystem::path& dir,
                                                 std::string_view prefix, std::string_view server) {
  MODELD_TRY(check_path_name(server));
  if (!prefix.empty()) MODELD_TRY(check_path_name(prefix));
  std::string name(prefix);
  if (!name.empty()) name += '_';
  name += "visionipc_";
  name += server;
  std::filesystem::path path = dir / name;
  MODELD_TRY(check_socket_path(path));
  return path;
}

std::string openpilot_prefix() {
  const char* prefix = std::getenv("OPENPILOT_PREFIX");
  return prefix == nullptr ? std::string() : std::string(prefix);
}

}  // namespace modeld::ipc
