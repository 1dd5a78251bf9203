// The limits of reading messages, each from both sides: what breaks one costs itself, and the next
// message is read by the same reader.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "ipc/schema/framing.h"
#include "ipc/schema/message_writer.h"
#include "ipc/schema/read_message.h"
#include "ipc/transport/transport.h"

namespace modeld::ipc {
namespace {

std::vector<std::byte> car_state(float v_ego) {
  MessageWriter writer(1024);
  writer.begin().initRoot<wire::Event>().initCarState().setVEgo(v_ego);
  const auto bytes = *writer.finish();
  return {bytes.begin(), bytes.end()};
}

// `segments` segments of `words` words each.
std::vector<std::byte> framed(uint32_t segments, uint32_t words) {
  std::vector<uint32_t> table(segments / 2 * 2 + 2, words);
  table[0] = segments - 1;
  std::vector<std::byte> message(table.size() * 4 + size_t{segments} * words * 8);
  std::memcpy(message.data(), table.data(), table.size() * 4);
  return message;
}

class Limits : public testing::Test {
 protected:
  void expect_next_is_read() {
    const auto message = car_state(12.5f);
    float v_ego = 0;
    const Status read = read_event(reader_, message, [&](wire::Event::Reader event) {
      v_ego = event.getCarState().getVEgo();
    });
    EXPECT_TRUE(read.ok());
    EXPECT_EQ(v_ego, 12.5f);
  }
  void expect_refused(std::span<const std::byte> message, const std::string& found) {
    const Status opened = reader_.open(message);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(opened.error().found, found) << to_string(opened.error());
    expect_next_is_read();
  }

  MessageReader reader_;
};

TEST_F(Limits, ReaderThatLivesLongHasNoLimitOverAllMessages) {
  MessageWriter writer(200'000);
  auto x = writer.begin().initRoot<wire::Event>().initModelV2().initPosition().initX(20'000);
  x.set(7, 1.5f);
  const auto message = *writer.finish();
  // A thousand times what one message may be walked.
  for (int i = 0; i < 16'000; ++i) {
    float value = 0;
    const Status read = read_event(reader_, message, [&](wire::Event::Reader event) {
      value = event.getModelV2().getPosition().getX()[7];
    });
    ASSERT_TRUE(read.ok()) << i << ": " << to_string(read.error());
    ASSERT_EQ(value, 1.5f);
  }
}

TEST_F(Limits, SeventyMebibytesAreTurnedDown) {
  const auto message = framed(1, 70 << 17);
  expect_refused(message, std::to_string((size_t{70} << 20) + 8));
  EXPECT_GT(message.size(), kMaxMessageBytes);
}

TEST_F(Limits, MoreThanFiveHundredAndTwelveSegmentsAreTurnedDown) {
  expect_refused(framed(513, 1), "513");
  expect_refused(framed(100'000, 1), "100000");
  EXPECT_TRUE(reader_.open(framed(512, 1)).ok());
}

TEST_F(Limits, EveryTruncationIsTurnedDown) {
  const auto whole = car_state(3);
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_FALSE(reader_.open(std::span(whole).first(bytes)).ok()) << bytes;
  }
  expect_next_is_read();
}

// The tag says one member, the pointer leads to something of another kind.
TEST_F(Limits, WrongUnionMemberIsAnErrorNotAValue) {
  MessageWriter writer(1024);
  writer.begin().initRoot<wire::Event>().initCan(3);
  auto bytes = *writer.finish();
  std::vector<std::byte> message(bytes.begin(), bytes.end());
  const uint16_t car_state_tag = *event_tag("carState");
  // Framing, root pointer, logMonoTime, then the tag (facts 3.3).
  std::memcpy(message.data() + 24, &car_state_tag, sizeof(car_state_tag));
  bool reached = false;
  const Status read = read_event(reader_, message, [&](wire::Event::Reader event) {
    ASSERT_TRUE(event.isCarState());
    static_cast<void>(event.getCarState().getVEgo());
    reached = true;
  });
  EXPECT_FALSE(read.ok());
  EXPECT_FALSE(reached);
  expect_next_is_read();
}

TEST_F(Limits, MemberOfTheFutureIsUnknownAndNotAnError) {
  auto message = car_state(1);
  const uint16_t tag = 5000;
  std::memcpy(message.data() + 24, &tag, sizeof(tag));
  ASSERT_TRUE(reader_.open(message).ok());
  const auto header = reader_.event_header();
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(event_kind(header->tag), "unknown");
  expect_next_is_read();
}

}  // namespace
}  // namespace modeld::ipc
