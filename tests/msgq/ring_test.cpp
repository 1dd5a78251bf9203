// The two ends of a ring in one thread: what they do to each other and to a damaged ring.
#include <gtest/gtest.h>

#include <vector>

#include "ipc/msgq/ring_reader.h"
#include "ipc/msgq/ring_writer.h"
#include "tests/msgq/ring_memory.h"

namespace modeld::ipc {
namespace {

using test::check_numbered;
using test::numbered_message;
using test::RingMemory;

class Ring : public testing::Test {
 protected:
  Ring() { writer_.take_over(); }
  RingReader make_reader(uint64_t uid, bool conflate = false) {
    RingReader reader(memory_.view(), uid, conflate,
                      [this](uint64_t evicted) { evicted_.push_back(evicted); });
    reader.enter();
    return reader;
  }
  void send(uint64_t number, size_t bytes = 40) {
    ASSERT_TRUE(writer_.send(numbered_message(number, bytes)).ok());
  }

  RingMemory memory_{1024};
  RingView view_ = memory_.view();
  RingWriter writer_{view_, 1};
  std::vector<uint64_t> evicted_;
};

TEST_F(Ring, LargestMessageFitsThreeTimesAndOneMoreByteDoesNot) {
  const uint64_t largest = RingWriter::largest_message(1024);
  EXPECT_EQ(largest, 328u);  // 3 * (328 + 8) <= 1024 < 3 * (329 -> 344)
  auto reader = make_reader(2);
  EXPECT_TRUE(writer_.send(numbered_message(5, largest)).ok());
  EXPECT_EQ(check_numbered(*reader.receive()), 5u);
  std::vector<std::byte> more(largest + 1);
  const Status refused = writer_.send(more);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.error().expected, "1 to 328 bytes");
  EXPECT_EQ(refused.error().found, "329");
  // An empty one would abort stock subscribers.
  EXPECT_FALSE(writer_.send({}).ok());
}

TEST_F(Ring, EveryWrapEdgeDeliversInOrder) {
  for (size_t bytes = 16; bytes <= 328; bytes += 8) {
    auto reader = make_reader(2);
    for (uint64_t i = 0; i < 200; ++i) {
      send(i, bytes);
      const auto message = reader.receive();
      ASSERT_TRUE(message.has_value()) << bytes << " bytes, message " << i;
      ASSERT_EQ(check_numbered(*message), i);
    }
    EXPECT_EQ(reader.counts().lapped, 0u);
    reader.leave();
  }
}

TEST_F(Ring, LappedReaderNoticesCountsAndGoesOn) {
  auto reader = make_reader(2);
  for (uint64_t i = 0; i < 100; ++i) send(i, 200);
  EXPECT_FALSE(reader.receive().has_value());
  EXPECT_EQ(reader.counts().lapped, 1u);
  send(100, 200);
  EXPECT_EQ(check_numbered(*reader.receive()), 100u);
  EXPECT_EQ(reader.counts().lapped, 1u);
}

TEST_F(Ring, ConflatingReaderGetsTheNewestAndCountsTheRest) {
  auto reader = make_reader(2, true);
  for (uint64_t i = 0; i < 5; ++i) send(i);
  EXPECT_TRUE(reader.ready());
  EXPECT_EQ(check_numbered(*reader.receive()), 4u);
  EXPECT_EQ(reader.counts().skipped, 4u);
  EXPECT_FALSE(reader.ready());
  EXPECT_FALSE(reader.receive().has_value());
}

TEST_F(Ring, SixteenthReaderEvictsAllAndTheyReturn) {
  std::vector<RingReader> readers;
  for (uint64_t i = 0; i < 15; ++i) readers.push_back(make_reader(100 + i));
  auto last = make_reader(200);
  EXPECT_EQ(evicted_.size(), 15u);
  EXPECT_EQ(view_.readers(), 1u);
  EXPECT_FALSE(readers[3].receive().has_value());  // registers again
  send(1);
  EXPECT_EQ(check_numbered(*readers[3].receive()), 1u);
  EXPECT_EQ(check_numbered(*last.receive()), 1u);
  EXPECT_EQ(readers[3].counts().registrations, 2u);
  EXPECT_EQ(readers[3].counts().lapped, 0u);
}

// Tools that come and go must not throw everybody else out every fifteenth time.
TEST_F(Ring, SlotsThatReadersLeftAreUsedAgain) {
  auto resident = make_reader(2);
  for (uint64_t i = 0; i < 100; ++i) {
    auto visitor = make_reader(1000 + i);
    visitor.leave();
  }
  EXPECT_TRUE(evicted_.empty());
  for (size_t slot = 1; slot < view_.readers(); ++slot) {
    EXPECT_EQ(view_.read_valid(slot).load(), 0u) << slot;
  }
  send(1);
  EXPECT_EQ(check_numbered(*resident.receive()), 1u);
  EXPECT_EQ(resident.counts().registrations, 1u);
}

TEST_F(Ring, WriterThatWasReplacedIsRefused) {
  RingWriter second(view_, 9);
  second.take_over();
  const Status refused = writer_.send(numbered_message(1, 40));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kRefused);
  writer_.release();  // not his any more
  EXPECT_TRUE(second.is_current());
  second.release();
  EXPECT_EQ(view_.write_uid().load(), 0u);
}

// A reader whose slot the header no longer counts gets no lap marks: it must notice by itself.
TEST_F(Ring, ReaderThatTheHeaderForgotRegistersAgain) {
  auto reader = make_reader(2);
  view_.num_readers().store(0);
  EXPECT_FALSE(reader.ready());
  send(1);
  EXPECT_EQ(check_numbered(*reader.receive()), 1u);
  EXPECT_EQ(reader.counts().registrations, 2u);
}

TEST_F(Ring, ReaderWhosePositionWasChangedRegistersAgain) {
  auto reader = make_reader(2);
  send(1);
  view_.read_pointer(0).store(RingPosition{77, 64}.pack());
  EXPECT_FALSE(reader.receive().has_value());
  send(2);
  EXPECT_EQ(check_numbered(*reader.receive()), 2u);
}

TEST_F(Ring, ImpossibleSizesAreRejectedAndTheNextMessageIsRead) {
  for (const int64_t size :
       {int64_t{0}, int64_t{-2}, int64_t{1024}, int64_t{1016}, std::numeric_limits<int64_t>::max(),
        std::numeric_limits<int64_t>::min()}) {
    auto reader = make_reader(2);
    const uint64_t before = reader.counts().rejected;
    const auto at = RingPosition::unpack(view_.write_pointer().load());
    send(1);
    view_.store_size(at.offset, size);
    if (size == 1016 && at.offset == 0) continue;  // would just fit
    EXPECT_FALSE(reader.receive().has_value()) << size;
    EXPECT_EQ(reader.counts().rejected, before + 1) << size;
    send(2);
    EXPECT_EQ(check_numbered(*reader.receive()), 2u) << size;
    reader.leave();
  }
}

TEST_F(Ring, ImpossibleWritePointerIsRejectedAndTheWriterRefuses) {
  auto reader = make_reader(2);
  for (const uint32_t offset : {1024u, 4u, 0xfffffff8u, 1020u}) {
    view_.write_pointer().store(RingPosition{0, offset}.pack());
    EXPECT_FALSE(reader.receive().has_value()) << offset;
    const Status refused = writer_.send(numbered_message(1, 40));
    ASSERT_FALSE(refused.ok()) << offset;
    EXPECT_EQ(refused.error().code, ErrorCode::kCorrupt);
  }
  EXPECT_EQ(reader.counts().rejected, 4u);
  // The next writer makes it whole.
  RingWriter next(view_, 5);
  next.take_over();
  EXPECT_FALSE(reader.receive().has_value());
  ASSERT_TRUE(next.send(numbered_message(3, 40)).ok());
  EXPECT_EQ(check_numbered(*reader.receive()), 3u);
}

TEST_F(Ring, EndlessWrapMarkersEnd) {
  auto reader = make_reader(2);
  view_.store_size(0, kWrapMarker);
  view_.write_pointer().store(RingPosition{0, 64}.pack());
  EXPECT_FALSE(reader.receive().has_value());
}

TEST_F(Ring, CycleCountWrapsAround) {
  view_.write_pointer().store(RingPosition{0xffffffff, 0}.pack());
  auto reader = make_reader(2);
  for (uint64_t i = 0; i < 50; ++i) {
    send(i, 200);
    ASSERT_EQ(check_numbered(*reader.receive()), i);
  }
  EXPECT_EQ(reader.counts().lapped, 0u);
  EXPECT_LT(RingPosition::unpack(view_.write_pointer().load()).cycle, 100u);
}

TEST(RingView, MemoryThatCannotBeARingIsRefused) {
  RingMemory memory(1024);
  EXPECT_FALSE(RingView::over(memory.bytes().subspan(1)).ok());
  EXPECT_FALSE(RingView::over(memory.bytes().first(384)).ok());
  EXPECT_FALSE(RingView::over(memory.bytes().first(1000 + 4)).ok());
  EXPECT_FALSE(RingView::over({}).ok());
}

}  // namespace
}  // namespace modeld::ipc
