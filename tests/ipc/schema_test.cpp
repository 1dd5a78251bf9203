// Messages: the schema against bytes the real system wrote, and hostile bytes.
#include <capnp/message.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "ipc/schema/event_log.h"
#include "ipc/schema/framing.h"
#include "ipc/schema/health.capnp.h"
#include "ipc/schema/log.capnp.h"
#include "ipc/schema/message_reader.h"
#include "ipc/schema/message_writer.h"
#include "ipc/schema/read_message.h"

namespace modeld::ipc {
namespace {

std::vector<std::byte> calibration_message(MessageWriter& writer) {
  auto event = writer.begin().initRoot<wire::Event>();
  event.setLogMonoTime(1234567);
  event.setValid(true);
  auto calibration = event.initExtrinsicsCalibration();
  calibration.setCalStatus(wire::ExtrinsicsCalibration::Status::CALIBRATED);
  auto rpy = calibration.initRpyCalib(3);
  for (unsigned i = 0; i < 3; ++i) rpy.set(i, 0.25f * static_cast<float>(i));
  auto bytes = writer.finish();
  EXPECT_TRUE(bytes.ok());
  return {bytes->begin(), bytes->end()};
}

// Tags from facts 3.3.
TEST(EventKind, TagsFollowTheOrdinals) {
  EXPECT_EQ(event_kind(0), "initData");
  EXPECT_EQ(event_kind(65), "thumbnail");
  EXPECT_EQ(event_kind(66), "onroadEventsDEPRECATED");
  EXPECT_EQ(event_kind(73), "modelV2");
  EXPECT_EQ(event_kind(90), "driverStateV2");
  EXPECT_EQ(event_kind(126), "drivingModelData");
  EXPECT_EQ(event_kind(152), "livestreamAudio");
  EXPECT_EQ(event_kind(153), "unknown");
  EXPECT_EQ(event_tag("cameraOdometry"), 62);
  EXPECT_EQ(event_tag("liveCalibration"), 18);
  EXPECT_EQ(event_tag("roadCameraState"), 1);
  EXPECT_FALSE(event_tag("noSuchThing").has_value());
}

TEST(MessageReader, ReadsAtEveryAlignment) {
  MessageWriter writer(4096);
  const auto message = calibration_message(writer);
  std::vector<std::byte> shifted(message.size() + 8);
  MessageReader reader;
  for (size_t shift = 0; shift < 8; ++shift) {
    std::memcpy(shifted.data() + shift, message.data(), message.size());
    float pitch = 0;
    const auto status = read_event(reader, std::span(shifted).subspan(shift, message.size()),
                                   [&](wire::Event::Reader event) {
                                     pitch = event.getExtrinsicsCalibration().getRpyCalib()[1];
                                   });
    ASSERT_TRUE(status.ok()) << to_string(status.error());
    EXPECT_EQ(pitch, 0.25f);
    const auto header = reader.event_header();
    ASSERT_TRUE(header.ok());
    EXPECT_EQ(header->log_mono_time, 1234567u);
    EXPECT_TRUE(header->valid);
    EXPECT_EQ(header->tag, 18);
  }
}

TEST(MessageReader, RefusesEveryTruncation) {
  MessageWriter writer(4096);
  const auto message = calibration_message(writer);
  MessageReader reader;
  for (size_t size = 0; size < message.size(); ++size) {
    const auto status = reader.open(std::span(message).first(size));
    ASSERT_FALSE(status.ok()) << size;
    EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
  }
}

TEST(MessageReader, UnknownTagReadsAsUnknown) {
  MessageWriter writer(4096);
  auto message = calibration_message(writer);
  // Framing 8 bytes, root pointer 8, data section: U64 time, then the U16 tag.
  const uint16_t tag = 999;
  std::memcpy(message.data() + 24, &tag, sizeof(tag));
  MessageReader reader;
  ASSERT_TRUE(reader.open(message).ok());
  const auto header = reader.event_header();
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->tag, 999);
  EXPECT_EQ(event_kind(header->tag), "unknown");
}

// Every single-bit fault either still reads or ends in kCorrupt; none throws or crashes.
TEST(MessageReader, SurvivesEveryFlippedBit) {
  MessageWriter writer(4096);
  const auto message = calibration_message(writer);
  MessageReader reader;
  size_t refused = 0;
  for (size_t bit = 0; bit < message.size() * 8; ++bit) {
    auto damaged = message;
    damaged[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto status = read_event(reader, damaged, [](wire::Event::Reader event) {
      if (event.isExtrinsicsCalibration()) {
        const auto calibration = event.getExtrinsicsCalibration();
        for (const float value : calibration.getRpyCalib()) static_cast<void>(value);
        for (const float value : calibration.getHeight()) static_cast<void>(value);
      }
    });
    if (status.ok()) continue;
    ++refused;
    EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
  }
  EXPECT_GT(refused, 0u);
}

// One list of a billion empty structs fits in a few bytes; the traversal limit stops the walk.
TEST(MessageReader, TraversalLimitStopsAmplification) {
  MessageWriter writer(4096);
  auto event = writer.begin().initRoot<wire::Event>();
  event.initCan(1);
  const auto bytes = writer.finish();
  ASSERT_TRUE(bytes.ok());
  std::vector<std::byte> message(bytes->begin(), bytes->end());
  // The list's tag word claims 2^29 - 1 elements of no size: struct pointer words 0.
  const size_t pointer_at = 8 + 8 + 16;
  const uint64_t list_pointer = 1u | (uint64_t{7} << 32);
  const uint64_t tag_word = ((uint64_t{1} << 29) - 1) << 2;
  std::memcpy(message.data() + pointer_at, &list_pointer, 8);
  std::memcpy(message.data() + pointer_at + 8, &tag_word, 8);
  MessageReader reader;
  uint64_t seen = 0;
  const auto status = read_event(reader, message, [&](wire::Event::Reader read) {
    for (const auto frame : read.getCan()) seen += frame.getAddress() + 1;
  });
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(seen, 0u);
}

TEST(Framing, RefusesWhatNoWriterMakes) {
  std::vector<uint32_t> words = {100000, 1, 0, 0};
  EXPECT_FALSE(read_framing(std::as_bytes(std::span(words)), 1000).ok());
  words = {0, 0, 0, 0};
  EXPECT_FALSE(read_framing(std::as_bytes(std::span(words)), 1000).ok());
  words = {0, 0xffffffff, 0, 0};
  EXPECT_FALSE(read_framing(std::as_bytes(std::span(words)), 1000).ok());
  words = {0, 1, 0, 0};
  const auto framing = read_framing(std::as_bytes(std::span(words)), 1000);
  ASSERT_TRUE(framing.ok() && framing->has_value());
  EXPECT_EQ((*framing)->total_bytes, 16u);
  EXPECT_EQ((*framing)->segments, 1u);
}

TEST(EventLog, CountsACutOffTail) {
  MessageWriter writer(4096);
  const auto message = calibration_message(writer);
  std::vector<std::byte> log;
  for (int i = 0; i < 3; ++i) log.insert(log.end(), message.begin(), message.end());
  log.insert(log.end(), message.begin(), message.begin() + 20);
  EventLog events(log);
  for (int i = 0; i < 3; ++i) {
    const auto each = events.next();
    ASSERT_TRUE(each.has_value());
    EXPECT_EQ(each->size(), message.size());
  }
  EXPECT_FALSE(events.next().has_value());
  EXPECT_EQ(events.messages(), 3u);
  EXPECT_EQ(events.losses().truncated_bytes, 20u);
  EXPECT_FALSE(events.losses().damaged());
}

class HostileLog : public testing::Test {
 protected:
  HostileLog() {
    const auto message = calibration_message(writer_);
    good_.assign(message.begin(), message.end());
  }
  void append(std::span<const std::byte> bytes) {
    log_.insert(log_.end(), bytes.begin(), bytes.end());
  }
  // A framing of `segments` segments of `words` words each, and as many zeros as it claims.
  void append_framing(uint32_t segments, uint32_t words) {
    std::vector<uint32_t> table(1 + segments, words);
    table[0] = segments - 1;
    if (table.size() % 2 != 0) table.push_back(0);
    append(std::as_bytes(std::span(table)));
    log_.resize(log_.size() + size_t{segments} * words * 8);
  }
  uint64_t walk() {
    EventLog log(log_);
    while (const auto message = log.next()) {
      EXPECT_TRUE(std::equal(message->begin(), message->end(), good_.begin(), good_.end()));
    }
    losses_ = log.losses();
    return log.messages();
  }

  MessageWriter writer_{4096};
  std::vector<std::byte> good_;
  std::vector<std::byte> log_;
  LogLosses losses_;
};

TEST_F(HostileLog, MessageAboveTheSizeLimitIsPassedOver) {
  append(good_);
  append_framing(1, (70 << 20) / 8);
  append(good_);
  EXPECT_EQ(walk(), 2u);
  EXPECT_EQ(losses_.too_large, 1u);
  EXPECT_EQ(losses_.skipped_bytes, (uint64_t{70} << 20) + 8);
}

TEST_F(HostileLog, MessageWithTooManySegmentsIsPassedOver) {
  append_framing(513, 1);
  append(good_);
  append_framing(100000, 1);
  EXPECT_EQ(walk(), 1u);
  EXPECT_EQ(losses_.too_many_segments, 2u);
}

TEST_F(HostileLog, FramingThatNoWriterMakesIsPassedOver) {
  append(good_);
  append_framing(1, 0);
  append(good_);
  EXPECT_EQ(walk(), 2u);
  EXPECT_EQ(losses_.malformed, 1u);
  EXPECT_EQ(losses_.skipped_bytes, 8u);
}

TEST_F(HostileLog, ReadingGoesOnBehindGarbageOfAnyLength) {
  for (const size_t length : {1u, 3u, 8u, 1000u}) {
    log_.clear();
    append(good_);
    append(std::vector<std::byte>(length, std::byte{0xff}));
    append(good_);
    append(good_);
    EXPECT_EQ(walk(), 3u) << length;
    EXPECT_EQ(losses_.malformed, 1u) << length;
    EXPECT_EQ(losses_.skipped_bytes, length);
    EXPECT_EQ(losses_.truncated_bytes, 0u);
  }
}

// A message cut short in the middle of a log: the writer died and another one went on.
TEST_F(HostileLog, ReadingGoesOnBehindACutOffMessage) {
  append(std::span(good_).first(good_.size() - 12));
  append(good_);
  append(good_);
  EventLog log(log_);
  uint64_t good = 0;
  while (const auto message = log.next()) {
    good += std::equal(message->begin(), message->end(), good_.begin(), good_.end()) ? 1 : 0;
  }
  EXPECT_GE(good, 1u);  // the cut-off one swallows the start of its neighbour
}

TEST_F(HostileLog, NothingButGarbageEnds) {
  append(std::vector<std::byte>(64, std::byte{0xff}));
  EXPECT_EQ(walk(), 0u);
  EXPECT_EQ(losses_.malformed, 1u);
  EXPECT_EQ(losses_.skipped_bytes, 64u);
}

TEST(MessageWriter, LargerThanItsSegmentStillReads) {
  MessageWriter writer(64);
  auto event = writer.begin().initRoot<wire::Event>();
  auto x = event.initModelV2().initPosition().initX(1000);
  for (unsigned i = 0; i < 1000; ++i) x.set(i, static_cast<float>(i));
  const auto bytes = writer.finish();
  ASSERT_TRUE(bytes.ok());
  MessageReader reader;
  double sum = 0;
  const auto status = read_event(reader, *bytes, [&](wire::Event::Reader read) {
    for (const float value : read.getModelV2().getPosition().getX()) sum += value;
  });
  ASSERT_TRUE(status.ok()) << to_string(status.error());
  EXPECT_EQ(sum, 999.0 * 1000 / 2);
}

// Nothing of one message leaks into the next although the memory is the same.
TEST(MessageWriter, StartsEveryMessageEmpty) {
  MessageWriter writer(4096);
  calibration_message(writer);
  writer.begin().initRoot<wire::Event>();
  const auto bytes = writer.finish();
  ASSERT_TRUE(bytes.ok());
  // Framing, root pointer, 16 bytes of data, one null pointer.
  ASSERT_EQ(bytes->size(), 8u + 8 + 16 + 8);
  for (size_t i = 16; i < bytes->size(); ++i) EXPECT_EQ((*bytes)[i], std::byte{0}) << i;
}

TEST(Health, UnsetChecksReadAsUnknown) {
  MessageWriter writer(4096);
  writer.begin().initRoot<wire::Health>().setProcess("modeld");
  const auto bytes = writer.finish();
  ASSERT_TRUE(bytes.ok());
  MessageReader reader;
  const auto status = read_message<wire::Health>(reader, *bytes, [](wire::Health::Reader health) {
    EXPECT_EQ(health.getReadiness().getOutputValid(), wire::Health::Check::UNKNOWN);
    EXPECT_EQ(health.getState(), wire::Health::State::STARTING);
    EXPECT_STREQ(health.getProcess().cStr(), "modeld");
  });
  EXPECT_TRUE(status.ok());
}

}  // namespace
}  // namespace modeld::ipc
