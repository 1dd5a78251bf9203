// The bytes of the frame-buffer protocol against what the real library sent.
#include "ipc/frames/vision_protocol.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "ipc/frames/frame_source.h"
#include "runtime/base/file.h"
#include "tests/support/test_data.h"

namespace modeld::ipc {
namespace {

using modeld::test::shared_path;

std::vector<std::byte> vector_file(const std::string& name) {
  auto bytes = read_file(shared_path("data/vectors/wire/" + name), 1 << 20);
  EXPECT_TRUE(bytes.ok());
  return bytes.ok() ? *std::move(bytes) : std::vector<std::byte>();
}

nlohmann::json vector_json() {
  const auto text = read_text_file(shared_path("data/vectors/wire/visionipc.json"), 1 << 20);
  return nlohmann::json::parse(*text);
}

TEST(VisionVectors, StreamRepliesDecode) {
  MODELD_NEED_SHARED("data/vectors/wire/visionipc.json");
  const auto expected = vector_json();
  for (const uint32_t type : {0u, 2u}) {
    const auto& stream = expected["stream" + std::to_string(type)];
    const auto reply = vector_file("vipc_reply_stream" + std::to_string(type) + ".bin");
    ASSERT_EQ(reply.size(), stream["reply_bytes"].get<size_t>());
    const auto records = decode_records(reply, stream["buffers"].get<size_t>(), type);
    ASSERT_TRUE(records.ok()) << to_string(records.error());
    ASSERT_EQ(records->size(), stream["buffers"].get<size_t>());
    for (const BufferRecord& record : *records) {
      EXPECT_EQ(record.layout.width, stream["width"].get<uint32_t>());
      EXPECT_EQ(record.layout.height, stream["height"].get<uint32_t>());
      EXPECT_EQ(record.server_id,
                std::stoull(expected["server_id"].get<std::string>(), nullptr, 16));
      EXPECT_EQ(record.type, type);
      if (!stream.contains("len")) continue;
      EXPECT_EQ(record.length, stream["len"].get<uint64_t>());
      EXPECT_EQ(record.mmap_length, stream["mmap_len"].get<uint64_t>());
      EXPECT_EQ(record.layout.stride, stream["stride"].get<uint32_t>());
      EXPECT_EQ(record.layout.uv_offset, stream["uv_offset"].get<uint64_t>());
    }
  }
}

TEST(VisionVectors, NotificationsDecodeAndEncode) {
  MODELD_NEED_SHARED("data/vectors/wire/visionipc.json");
  const auto expected = vector_json();
  const auto packets = vector_file("vipc_notifications.bin");
  const auto& list = expected["notifications"];
  ASSERT_EQ(packets.size(), list.size() * kNotificationBytes);
  for (size_t k = 0; k < list.size(); ++k) {
    const auto packet = std::span(packets).subspan(k * kNotificationBytes, kNotificationBytes);
    const auto decoded = decode_notification(packet);
    ASSERT_TRUE(decoded.has_value());
    EXPECT_EQ(decoded->index, list[k]["idx"].get<uint64_t>());
    EXPECT_EQ(decoded->frame_id, list[k]["frame_id"].get<uint32_t>());
    EXPECT_EQ(decoded->timestamp_sof_ns, list[k]["timestamp_sof"].get<uint64_t>());
    EXPECT_EQ(decoded->timestamp_eof_ns, list[k]["timestamp_eof"].get<uint64_t>());
    EXPECT_EQ(decoded->valid, list[k]["valid"].get<bool>());
    EXPECT_EQ(decoded->server_id,
              std::stoull(expected["server_id"].get<std::string>(), nullptr, 16));
    // Byte for byte, but for the padding at 20 to 24 and behind the flag.
    const auto encoded = encode_notification(*decoded);
    EXPECT_TRUE(std::equal(encoded.begin(), encoded.begin() + 20, packet.begin()));
    EXPECT_TRUE(std::equal(encoded.begin() + 24, encoded.begin() + 41, packet.begin() + 24));
    // A sender of the years before had no flag.
    const auto old = decode_notification(packet.first(kOldNotificationBytes));
    ASSERT_TRUE(old.has_value());
    EXPECT_EQ(old->timestamp_eof_ns, decoded->timestamp_eof_ns);
    EXPECT_FALSE(old->valid);
  }
}

// A record we encode equals the real one, except for addresses and descriptor numbers.
TEST(VisionVectors, RecordsEncodeLikeTheRealServer) {
  MODELD_NEED_SHARED("data/vectors/wire/vipc_reply_stream0.bin");
  const auto reply = vector_file("vipc_reply_stream0.bin");
  const auto records = decode_records(reply, 4, 0);
  ASSERT_TRUE(records.ok());
  std::vector<std::byte> encoded;
  for (const BufferRecord& record : *records) {
    encode_record(record, RecordFormat::kNewest, encoded);
  }
  ASSERT_EQ(encoded.size(), reply.size());
  for (size_t i = 0; i < reply.size(); ++i) {
    const size_t at = i % 112;
    const bool for_the_server_only = (at >= 16 && at < 40) || (at >= 72 && at < 88);
    if (for_the_server_only) continue;
    EXPECT_EQ(encoded[i], reply[i]) << "record byte " << at;
  }
}

TEST(VisionVectors, TrailingIdLiesBehindThePicture) {
  MODELD_NEED_SHARED("data/vectors/wire/vipc_mapped_buffer_idx2.bin");
  const auto expected = vector_json();
  const auto mapped = vector_file("vipc_mapped_buffer_idx2.bin");
  const auto length = expected["stream0"]["len"].get<uint64_t>();
  ASSERT_EQ(mapped.size(), length + kTrailingIdBytes);
  uint64_t id;
  std::memcpy(&id, mapped.data() + length, sizeof(id));
  EXPECT_EQ(id, expected["notifications"][6]["trailing_frame_id_in_clients_mapping"]);
}

TEST(VisionProtocol, OlderRecordsReadTheSame) {
  const Nv12Layout layout{32, 16, 32, 512, 768};
  for (const RecordFormat format : {RecordFormat::kNewest, RecordFormat::kOlder}) {
    std::vector<std::byte> bytes;
    for (uint64_t i = 0; i < 128; ++i) encode_record({768, 776, layout, 99, i, 2}, format, bytes);
    EXPECT_EQ(bytes.size(), 128 * (format == RecordFormat::kNewest ? 112u : 136u));
    const auto records = decode_records(bytes, 128, 2);
    ASSERT_TRUE(records.ok()) << to_string(records.error());
    EXPECT_EQ(records->back().index, 127u);
    EXPECT_EQ(records->back().layout, layout);
  }
}

TEST(VisionProtocol, LyingRecordsAreRefused) {
  const Nv12Layout layout{32, 16, 32, 512, 768};
  const BufferRecord good{768, 776, layout, 99, 0, 2};
  const auto decode = [](const BufferRecord& record, size_t fds = 1) {
    std::vector<std::byte> bytes;
    encode_record(record, RecordFormat::kNewest, bytes);
    return decode_records(bytes, fds, 2);
  };
  ASSERT_TRUE(decode(good).ok());
  EXPECT_FALSE(decode(good, 0).ok());
  EXPECT_FALSE(decode(good, 2).ok());
  EXPECT_FALSE(decode(good, 129).ok());
  auto bad = good;
  bad.mmap_length = 775;
  EXPECT_FALSE(decode(bad).ok()) << "no room for the id";
  bad.mmap_length = 0;
  EXPECT_FALSE(decode(bad).ok());
  bad = good;
  bad.index = 1;
  EXPECT_FALSE(decode(bad).ok());
  bad = good;
  bad.type = 1;
  EXPECT_FALSE(decode(bad).ok());
  bad = good;
  bad.length = UINT64_MAX - 3;  // length + 8 wraps
  bad.mmap_length = 4;
  EXPECT_FALSE(decode(bad).ok());
  for (auto change :
       {+[](Nv12Layout& l) { l.stride = 31; }, +[](Nv12Layout& l) { l.width = 0; },
        +[](Nv12Layout& l) { l.height = 15; }, +[](Nv12Layout& l) { l.uv_offset = 511; },
        +[](Nv12Layout& l) { l.uv_offset = UINT64_MAX; }}) {
    bad = good;
    change(bad.layout);
    EXPECT_FALSE(decode(bad).ok());
  }
}

TEST(VisionProtocol, SocketPathRule) {
  EXPECT_EQ(*vision_socket_path("/tmp", "", "camerad"), "/tmp/visionipc_camerad");
  EXPECT_EQ(*vision_socket_path("/tmp", "abc", "camerad"), "/tmp/abc_visionipc_camerad");
  EXPECT_FALSE(vision_socket_path("/tmp", "../x", "camerad").ok());
  EXPECT_FALSE(vision_socket_path("/tmp", "", "a/b").ok());
  EXPECT_FALSE(vision_socket_path("/tmp", "", "").ok());
  EXPECT_FALSE(vision_socket_path("/tmp", "", std::string(4000, 'a')).ok());
}

TEST(TornRule, IdsAndDistance) {
  FrameInfo info;
  info.frame_id = 100;
  EXPECT_EQ(check_frame(info, 100, 100, 4, 1), FrameCheck::kIntact);
  EXPECT_EQ(check_frame(info, 104, 100, 4, 1), FrameCheck::kOverwritten);
  EXPECT_EQ(check_frame(info, 0, 100, 4, 1), FrameCheck::kOverwritten);
  EXPECT_EQ(check_frame(info, 100, 102, 4, 1), FrameCheck::kIntact);
  EXPECT_EQ(check_frame(info, 100, 103, 4, 1), FrameCheck::kLapped);
  EXPECT_EQ(check_frame(info, 100, 102, 4, 2), FrameCheck::kLapped);
  EXPECT_EQ(check_frame(info, 100, 101, 2, 1), FrameCheck::kLapped);
  EXPECT_EQ(check_frame(info, 100, 100, 1, 1), FrameCheck::kIntact);
  EXPECT_EQ(check_frame(info, 100, 101, 1, 1), FrameCheck::kLapped);
  EXPECT_EQ(check_frame(info, 100, 5, 4, 1), FrameCheck::kIntact);  // ids started again
  info.frame_id = 0xfffffffe;
  EXPECT_EQ(check_frame(info, 0xfffffffe, 0, 4, 1), FrameCheck::kIntact);  // wrapped
  EXPECT_EQ(check_frame(info, 0xfffffffe, 1, 4, 1), FrameCheck::kLapped);
}

}  // namespace
}  // namespace modeld::ipc
