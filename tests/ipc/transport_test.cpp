// What every transport must do, and what the ZeroMQ one must do besides.
#include "ipc/transport/transport.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "ipc/msgq/msgq_transport.h"
#include "ipc/transport/memory_transport.h"
#include "ipc/transport/zmq_transport.h"
#include "tests/support/temp_dir.h"

namespace modeld::ipc {
namespace {

using modeld::test::TempDir;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Deadline soon(Nanoseconds duration = 2 * kSecond) {
  return Deadline::after(Clock::real(), duration);
}

std::unique_ptr<Transport> make_transport(const std::string& kind, const TempDir& dir,
                                          Role role = Role::kDesk, int depth = 200) {
  if (kind == "memory") {
    return std::make_unique<MemoryTransport>(Clock::real(), role, static_cast<size_t>(depth));
  }
  if (kind == "msgq") {
    MsgqOptions msgq;
    msgq.shm_dir = dir.path();
    msgq.role = role;
    auto made = MsgqTransport::create(Clock::real(), msgq);
    EXPECT_TRUE(made.ok()) << to_string(made.error());
    return *std::move(made);
  }
  ZmqOptions options;
  options.kind = kind == "tcp" ? ZmqOptions::Kind::kTcp : ZmqOptions::Kind::kIpc;
  options.ipc_dir = dir.path();
  // An address of this test process's own, so that runs at the same time do not meet.
  options.tcp_address = "127.77." + std::to_string(::getpid() / 250 % 250) + "." +
                        std::to_string(::getpid() % 250 + 1);
  options.role = role;
  options.queue_depth = depth;
  auto made = ZmqTransport::create(Clock::real(), options);
  EXPECT_TRUE(made.ok()) << to_string(made.error());
  return *std::move(made);
}

// Sends until the first message arrives: a subscriber is connected some time after it is made.
void connect_pair(Transport& transport, Publisher& publisher, Subscriber& subscriber) {
  const Deadline deadline = soon(5 * kSecond);
  Subscriber* const subscribers[] = {&subscriber};
  while (!deadline.passed(Clock::real())) {
    ASSERT_TRUE(publisher.send(bytes_of("hello")).ok());
    const auto ready = transport.wait(subscribers, soon(20 * kMillisecond));
    ASSERT_TRUE(ready.ok());
    if (*ready) break;
  }
  // Late hellos of a slow connection, until it is quiet.
  while (*transport.wait(subscribers, soon(50 * kMillisecond))) {
    ASSERT_TRUE(subscriber.receive().ok());
  }
}

class AnyTransport : public testing::TestWithParam<std::string> {
 protected:
  TempDir dir_;
  std::unique_ptr<Transport> transport_ = make_transport(GetParam(), dir_);
};

TEST_P(AnyTransport, DeliversInOrder) {
  auto publisher = transport_->publisher("carState");
  ASSERT_TRUE(publisher.ok()) << to_string(publisher.error());
  auto subscriber = transport_->subscriber("carState", SubscribeMode::kQueue);
  ASSERT_TRUE(subscriber.ok()) << to_string(subscriber.error());
  connect_pair(*transport_, **publisher, **subscriber);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE((*publisher)->send(bytes_of(std::to_string(i))).ok());
  Subscriber* const subscribers[] = {subscriber->get()};
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(*transport_->wait(subscribers, soon()));
    const auto received = (*subscriber)->receive();
    ASSERT_TRUE(received.ok() && received->has_value());
    EXPECT_EQ(text_of(**received), std::to_string(i));
  }
  const auto nothing = (*subscriber)->receive();
  ASSERT_TRUE(nothing.ok());
  EXPECT_FALSE(nothing->has_value());
}

TEST_P(AnyTransport, ConflatingSubscriberGetsTheNewest) {
  auto publisher = transport_->publisher("carState");
  auto subscriber = transport_->subscriber("carState", SubscribeMode::kConflate);
  ASSERT_TRUE(publisher.ok() && subscriber.ok());
  connect_pair(*transport_, **publisher, **subscriber);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE((*publisher)->send(bytes_of(std::to_string(i))).ok());
  std::string last;
  Subscriber* const subscribers[] = {subscriber->get()};
  while (last != "19" && *transport_->wait(subscribers, soon())) {
    const auto received = (*subscriber)->receive();
    ASSERT_TRUE(received.ok());
    if (received->has_value()) {
      last = text_of(**received);
    }
  }
  EXPECT_EQ(last, "19");
  EXPECT_FALSE(*transport_->wait(subscribers, soon(30 * kMillisecond)));
}

TEST_P(AnyTransport, LargeAndSizedMessages) {
  auto publisher = transport_->publisher("modelV2");
  auto subscriber = transport_->subscriber("modelV2", SubscribeMode::kQueue);
  ASSERT_TRUE(publisher.ok() && subscriber.ok());
  connect_pair(*transport_, **publisher, **subscriber);
  // A ring of 10 MiB takes a message three times.
  const size_t largest = GetParam() == "msgq" ? 10'485'760 / 24 * 8 - 8 : kMaxMessageBytes;
  std::vector<std::byte> large(largest);
  for (size_t i = 0; i < large.size(); i += 997) large[i] = static_cast<std::byte>(i);
  ASSERT_TRUE((*publisher)->send(large).ok());
  Subscriber* const subscribers[] = {subscriber->get()};
  ASSERT_TRUE(*transport_->wait(subscribers, soon(5 * kSecond)));
  const auto received = (*subscriber)->receive();
  ASSERT_TRUE(received.ok() && received->has_value());
  EXPECT_TRUE(std::equal(large.begin(), large.end(), (*received)->begin(), (*received)->end()));
  large.push_back(std::byte{0});
  EXPECT_EQ((*publisher)->send(large).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ((*publisher)->send({}).error().code, ErrorCode::kInvalidArgument);
}

TEST_P(AnyTransport, WaitEndsAtItsDeadline) {
  auto subscriber = transport_->subscriber("carState", SubscribeMode::kQueue);
  ASSERT_TRUE(subscriber.ok());
  Subscriber* const subscribers[] = {subscriber->get()};
  const Nanoseconds start = Clock::real().monotonic();
  const auto ready = transport_->wait(subscribers, soon(60 * kMillisecond));
  ASSERT_TRUE(ready.ok());
  EXPECT_FALSE(*ready);
  EXPECT_GE(Clock::real().monotonic() - start, 55 * kMillisecond);
  EXPECT_FALSE(*transport_->wait({}, soon(10 * kMillisecond)));
}

TEST_P(AnyTransport, WaitWakesForAnyOfSeveral) {
  auto publisher = transport_->publisher("deviceState");
  auto quiet = transport_->subscriber("carState", SubscribeMode::kQueue);
  auto busy = transport_->subscriber("deviceState", SubscribeMode::kQueue);
  ASSERT_TRUE(publisher.ok() && quiet.ok() && busy.ok());
  connect_pair(*transport_, **publisher, **busy);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_TRUE((*publisher)->send(bytes_of("now")).ok());
  });
  Subscriber* const subscribers[] = {quiet->get(), busy->get()};
  EXPECT_TRUE(*transport_->wait(subscribers, soon()));
  later.join();
  EXPECT_FALSE((*quiet)->receive()->has_value());
  EXPECT_TRUE((*busy)->receive()->has_value());
}

TEST_P(AnyTransport, SecondPublisherIsRefusedUntilTheFirstHasGone) {
  auto first = transport_->publisher("carState");
  ASSERT_TRUE(first.ok());
  const auto second = transport_->publisher("carState");
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kIo) << to_string(second.error());
  first->reset();
  const Deadline deadline = soon();
  auto third = transport_->publisher("carState");
  // libzmq gives a TCP port back in its own time.
  while (!third.ok() && !deadline.passed(Clock::real())) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    third = transport_->publisher("carState");
  }
  EXPECT_TRUE(third.ok());
}

TEST_P(AnyTransport, HostileTopicsAreRefused) {
  for (const std::string& name : {std::string("../../etc/passwd"), std::string(),
                                  std::string(5000, 'a'), std::string("a\0b", 3)}) {
    EXPECT_FALSE(transport_->publisher(name).ok());
    EXPECT_FALSE(transport_->subscriber(name, SubscribeMode::kQueue).ok());
  }
}

TEST_P(AnyTransport, ForeignTopicIsNotPublished) {
  const auto modeld = make_transport(GetParam(), dir_, Role::kModeld);
  const auto refused = modeld->publisher("sendcan");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kPermission);
  EXPECT_FALSE(std::filesystem::exists(dir_.path() / "sendcan"));
  EXPECT_TRUE(modeld->publisher("modelV2").ok());
}

// The queue has a depth; what does not fit is missed, and what is there stays in order.
TEST_P(AnyTransport, SlowSubscriberMissesMessagesInsteadOfGrowing) {
  const auto shallow = make_transport(GetParam(), dir_, Role::kDesk, 4);
  auto publisher = shallow->publisher("radarState");
  auto subscriber = shallow->subscriber("radarState", SubscribeMode::kQueue);
  ASSERT_TRUE(publisher.ok() && subscriber.ok());
  connect_pair(*shallow, **publisher, **subscriber);
  // Large, so that no socket buffer can hide a queue; a ring is its queue.
  const bool ring = GetParam() == "msgq";
  std::vector<std::byte> message(ring ? size_t{64'000} : size_t{1} << 20);
  constexpr int kSent = 64;
  for (int i = 0; i < kSent; ++i) {
    message[0] = static_cast<std::byte>(i);
    ASSERT_TRUE((*publisher)->send(message).ok());
  }
  Subscriber* const subscribers[] = {subscriber->get()};
  int received_messages = 0;
  int last = -1;
  while (*shallow->wait(subscribers, soon(100 * kMillisecond))) {
    const auto received = (*subscriber)->receive();
    ASSERT_TRUE(received.ok());
    if (!received->has_value()) continue;
    EXPECT_GT(static_cast<int>((**received)[0]), last);
    last = static_cast<int>((**received)[0]);
    ++received_messages;
  }
  // How many fit is not exact: libzmq counts in batches, and socket buffers hold parts of one.
  // (A reader that a ring's writer has overtaken loses all that waited.)
  if (!ring) {
    EXPECT_GE(received_messages, 1);
  }
  EXPECT_LT(received_messages, kSent);
  EXPECT_EQ((*subscriber)->lapped(), ring ? 1u : 0u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, AnyTransport, testing::Values("memory", "ipc", "tcp", "msgq"),
                         [](const auto& kind) { return kind.param; });

TEST(ZmqTransport, StaleSocketFileIsReplaced) {
  TempDir dir;
  const auto path = dir.path() / "carState";
  const int left_over = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(left_over, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ::close(left_over);
  ASSERT_TRUE(std::filesystem::exists(path));
  const auto transport = make_transport("ipc", dir);
  auto publisher = transport->publisher("carState");
  ASSERT_TRUE(publisher.ok()) << to_string(publisher.error());
  auto subscriber = transport->subscriber("carState", SubscribeMode::kQueue);
  connect_pair(*transport, **publisher, **subscriber);
  publisher->reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

// A subscriber outlives its publisher and finds the next one by itself.
TEST(ZmqTransport, SubscriberFollowsARestartedPublisher) {
  TempDir dir;
  const auto transport = make_transport("ipc", dir);
  auto subscriber = transport->subscriber("carState", SubscribeMode::kQueue);
  ASSERT_TRUE(subscriber.ok());
  for (int life = 0; life < 3; ++life) {
    auto publisher = transport->publisher("carState");
    ASSERT_TRUE(publisher.ok()) << to_string(publisher.error());
    Subscriber* const subscribers[] = {subscriber->get()};
    const Deadline deadline = soon(5 * kSecond);
    bool arrived = false;
    while (!arrived && !deadline.passed(Clock::real())) {
      ASSERT_TRUE((*publisher)->send(bytes_of(std::to_string(life))).ok());
      if (!*transport->wait(subscribers, soon(20 * kMillisecond))) continue;
      const auto received = (*subscriber)->receive();
      ASSERT_TRUE(received.ok());
      arrived = received->has_value() && text_of(**received) == std::to_string(life);
    }
    EXPECT_TRUE(arrived) << "life " << life;
  }
}

TEST(ZmqTransport, PlainFileInTheSocketsPlaceIsRefused) {
  TempDir dir;
  std::ofstream(dir.path() / "carState") << "precious";
  const auto refused = make_transport("ipc", dir)->publisher("carState");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kRefused);
  EXPECT_EQ(std::filesystem::file_size(dir.path() / "carState"), 8u);
}

TEST(ZmqTransport, MissingDirectoryIsMadeAndUnsafeOneRefused) {
  TempDir dir;
  ZmqOptions options;
  options.ipc_dir = dir.path() / "new";
  EXPECT_TRUE(ZmqTransport::create(Clock::real(), options).ok());
  struct stat info {};
  ASSERT_EQ(::stat(options.ipc_dir.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07022, 0u);
  ASSERT_EQ(::chmod(options.ipc_dir.c_str(), 0777), 0);
  EXPECT_EQ(ZmqTransport::create(Clock::real(), options).error().code, ErrorCode::kRefused);
  options.ipc_dir = "relative";
  EXPECT_EQ(ZmqTransport::create(Clock::real(), options).error().code, ErrorCode::kInvalidArgument);
  options.ipc_dir = dir.path() / std::string(90, 'd');
  const auto deep = ZmqTransport::create(Clock::real(), options);
  ASSERT_TRUE(deep.ok());
  EXPECT_EQ((*deep)->publisher("narrowRoadCameraState").error().code, ErrorCode::kInvalidArgument);
}

TEST(ZmqTransport, TcpEndpointFollowsThePortRule) {
  TempDir dir;
  ZmqOptions options;
  options.kind = ZmqOptions::Kind::kTcp;
  const auto transport = ZmqTransport::create(Clock::real(), options);
  ASSERT_TRUE(transport.ok());
  EXPECT_EQ(*(*transport)->endpoint("modelV2"), "tcp://127.0.0.1:58537");
  options.tcp_address = "localhost";
  EXPECT_FALSE(ZmqTransport::create(Clock::real(), options).ok());
}

// A publisher of carState that keeps none of our rules, and a subscriber that has heard it.
class ForeignPeer : public testing::Test {
 protected:
  void SetUp() override {
    const std::string endpoint = "ipc://" + (dir_.path() / "carState").string();
    ASSERT_EQ(zmq_bind(peer_, endpoint.c_str()), 0);
    auto subscriber = transport_->subscriber("carState", SubscribeMode::kQueue);
    ASSERT_TRUE(subscriber.ok());
    subscriber_ = std::move(subscriber).value();
    while (!waits(20 * kMillisecond)) zmq_send(peer_, "x", 1, 0);
    while (waits(50 * kMillisecond)) ASSERT_TRUE(subscriber_->receive().ok());
  }
  void TearDown() override {
    const int linger = 0;
    zmq_setsockopt(peer_, ZMQ_LINGER, &linger, sizeof(linger));
    zmq_close(peer_);
    zmq_ctx_term(context_);
  }
  bool waits(Nanoseconds patience) {
    Subscriber* const subscribers[] = {subscriber_.get()};
    return *transport_->wait(subscribers, soon(patience));
  }
  std::string next_text(Nanoseconds patience) {
    std::string text;
    while (text.empty() && waits(patience)) {
      const auto received = subscriber_->receive();
      EXPECT_TRUE(received.ok());
      if (received.ok() && received->has_value()) text = text_of(**received);
    }
    return text;
  }
  TempDir dir_;
  const decltype(make_transport("ipc", dir_)) transport_ = make_transport("ipc", dir_);
  void* const context_ = zmq_ctx_new();
  void* const peer_ = zmq_socket(context_, ZMQ_PUB);
  std::unique_ptr<Subscriber> subscriber_;
};

// Several parts or nothing at all are counted, not delivered.
TEST_F(ForeignPeer, MultiPartAndEmptyMessagesAreRejected) {
  zmq_send(peer_, "a", 1, ZMQ_SNDMORE);
  zmq_send(peer_, "b", 1, 0);
  zmq_send(peer_, "", 0, 0);
  zmq_send(peer_, "good", 4, 0);
  EXPECT_EQ(next_text(20 * kSecond), "good");
  EXPECT_EQ(subscriber_->rejected(), 2u);
}

// Field reports name messages of 70 MiB: such a one costs itself, not the ones behind it.
TEST_F(ForeignPeer, TooLargeMessageIsCountedAndTheNextOneArrives) {
  const std::vector<std::byte> large(size_t{70} << 20);
  zmq_send(peer_, large.data(), large.size(), 0);
  zmq_send(peer_, "next", 4, 0);
  EXPECT_EQ(next_text(20 * kSecond), "next");
  EXPECT_EQ(subscriber_->rejected(), 1u);
}

}  // namespace
}  // namespace modeld::ipc
