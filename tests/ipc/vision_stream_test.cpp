// Frames from server to client, and what happens when servers misbehave.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "ipc/frames/vision_client.h"
#include "ipc/frames/vision_server.h"
#include "ipc/msgq/msgq_transport.h"
#include "ipc/transport/memory_transport.h"
#include "ipc/transport/zmq_transport.h"
#include "tests/ipc/descriptors.h"
#include "tests/ipc/script_server.h"
#include "tests/support/temp_dir.h"

namespace modeld::ipc {
namespace {

using modeld::test::TempDir;
using test::descriptors_settle;
using test::open_descriptors;
using test::ScriptBuffers;
using test::ScriptServer;

Deadline soon(Nanoseconds duration = 2 * kSecond) {
  return Deadline::after(Clock::real(), duration);
}

Nv12Layout small_layout() {
  return {32, 16, 64, 64 * 16, 64 * 24};
}

class VisionStream : public testing::Test {
 protected:
  std::unique_ptr<VisionServer> make_server(size_t buffers = 4,
                                            RecordFormat format = RecordFormat::kNewest) {
    VisionServerOptions options;
    options.socket_dir = dir_.path();
    options.format = format;
    auto server = VisionServer::create(transport_, options);
    EXPECT_TRUE(server.ok());
    EXPECT_TRUE((*server)->add_stream(0, small_layout(), buffers).ok());
    const auto started = (*server)->start();
    EXPECT_TRUE(started.ok()) << to_string(started.error());
    return *std::move(server);
  }

  std::unique_ptr<VisionClient> make_client(bool conflate = true, uint32_t type = 0) {
    return make_client(Clock::real(), conflate, type);
  }
  std::unique_ptr<VisionClient> make_client(const Clock& clock, bool conflate, uint32_t type) {
    VisionClientOptions options;
    options.socket_dir = dir_.path();
    options.conflate = conflate;
    options.stream_type = type;
    auto client = VisionClient::create(clock, transport_, options);
    EXPECT_TRUE(client.ok());
    return *std::move(client);
  }

  void send(VisionServer& server, uint32_t frame_id) {
    const auto picture = server.next_buffer(0);
    std::memset(picture.data(), static_cast<int>(frame_id & 0xff), picture.size());
    EXPECT_TRUE(server.publish(0, frame_id, frame_id * 1000u, frame_id * 1000u + 7).ok());
  }

  std::filesystem::path socket_path() const { return dir_.path() / "visionipc_camerad"; }

  TempDir dir_;
  MemoryTransport transport_{Clock::real()};
};

TEST_F(VisionStream, FramesArriveWithBothRecordFormats) {
  for (const RecordFormat format : {RecordFormat::kNewest, RecordFormat::kOlder}) {
    const auto server = make_server(4, format);
    const auto client = make_client();
    client->maintain();
    ASSERT_TRUE(client->state().connected) << client->state().last_error;
    for (uint32_t id = 500; id < 510; ++id) {
      send(*server, id);
      const auto frame = client->receive(soon());
      ASSERT_TRUE(frame.ok() && frame->has_value());
      const Frame& got = **frame;
      EXPECT_EQ(got.info.frame_id, id);
      EXPECT_EQ(got.info.server_id, server->server_id());
      EXPECT_EQ(got.info.buffer_index, (id - 500) % 4);
      EXPECT_EQ(got.info.timestamp_sof_ns, id * 1000u);
      EXPECT_EQ(got.info.timestamp_eof_ns, id * 1000u + 7);
      EXPECT_GT(got.info.receive_ns, 0);
      EXPECT_EQ(got.layout(), small_layout());
      ASSERT_EQ(got.pixels().size(), small_layout().length);
      EXPECT_EQ(got.pixels().front(), static_cast<std::byte>(id & 0xff));
      EXPECT_EQ(got.pixels().back(), static_cast<std::byte>(id & 0xff));
      EXPECT_FALSE(client->is_torn(got));
    }
    EXPECT_EQ(client->newest_notified_id(), 509u);
    EXPECT_EQ(client->state().num_buffers, 4u);
  }
}

TEST_F(VisionStream, ConflatingGivesTheNewestAndCountsTheRest) {
  const auto server = make_server(8);
  const auto conflating = make_client(true);
  const auto queueing = make_client(false);
  conflating->maintain();
  queueing->maintain();
  for (uint32_t id = 1; id <= 5; ++id) send(*server, id);
  EXPECT_EQ((*conflating->receive(soon()))->info.frame_id, 5u);
  EXPECT_EQ(conflating->state().skipped, 4u);
  for (uint32_t id = 1; id <= 5; ++id) {
    EXPECT_EQ((*queueing->receive(soon()))->info.frame_id, id);
  }
  EXPECT_EQ(queueing->state().skipped, 0u);
  EXPECT_FALSE(queueing->receive(soon(20 * kMillisecond))->has_value());
}

// After a short stall nothing is lost; a reader that stays too slow gets the newest.
TEST_F(VisionStream, FramesAreAnsweredLateRatherThanLostButNotForEver) {
  const auto server = make_server(16);
  VisionClientOptions options;
  options.socket_dir = dir_.path();
  options.late_frames = 1;
  auto made = VisionClient::create(Clock::real(), transport_, options);
  ASSERT_TRUE(made.ok());
  VisionClient& client = **made;
  client.maintain();
  const auto next = [&] { return (*client.receive(soon()))->info.frame_id; };
  send(*server, 1);
  send(*server, 2);
  EXPECT_EQ(next(), 1u);
  EXPECT_EQ(next(), 2u);
  EXPECT_EQ(client.state().skipped, 0u);
  for (uint32_t id = 3; id <= 7; ++id) send(*server, id);
  EXPECT_EQ(next(), 6u);  // a long stall: all but one are skipped
  EXPECT_EQ(next(), 7u);
  EXPECT_EQ(client.state().skipped, 3u);
  uint32_t id = 7;
  uint32_t late = 0;
  send(*server, ++id);
  for (; late < 20; ++late) {  // every frame takes longer than a period
    send(*server, ++id);
    if (next() == id) break;
  }
  EXPECT_EQ(late, 4u);
}

// Durations are measured on CLOCK_MONOTONIC, also those from the notification on.
TEST_F(VisionStream, TimeOfReceiptIsOnTheMonotonicClock) {
  const auto server = make_server();
  const auto client = make_client();
  client->maintain();
  const Nanoseconds before = Clock::real().monotonic();
  send(*server, 1);
  const auto frame = client->receive(soon());
  ASSERT_TRUE(frame.ok() && frame->has_value());
  EXPECT_GE((*frame)->info.receive_ns, before);
  EXPECT_LE((*frame)->info.receive_ns, Clock::real().monotonic());
}

// Fault 4: the ring laps a reader. The writer is half way through the next picture: pixels change,
// the id behind them does not yet.
TEST_F(VisionStream, OverwriteInProgressIsTornAlthoughTheIdIsUntouched) {
  const auto server = make_server(4);
  const auto client = make_client();
  client->maintain();
  send(*server, 10);
  const Frame frame = **client->receive(soon());
  EXPECT_FALSE(client->is_torn(frame));
  send(*server, 11);
  send(*server, 12);
  EXPECT_FALSE(client->is_torn(frame)) << "two later frames are in other buffers";
  send(*server, 13);
  const auto same_memory = server->next_buffer(0);
  std::memset(same_memory.data(), 0xee, same_memory.size() / 2);
  ASSERT_EQ(frame.pixels().front(), std::byte{0xee});
  ASSERT_EQ(frame.buffer->trailing_frame_id(), 10u);
  EXPECT_EQ(client->check(frame), FrameCheck::kLapped);
  // The notifications read by check() are not lost.
  EXPECT_EQ((*client->receive(soon()))->info.frame_id, 13u);
}

TEST_F(VisionStream, FinishedOverwriteIsTornByItsId) {
  const auto server = make_server(2);
  const auto client = make_client();
  client->maintain();
  send(*server, 10);
  const Frame frame = **client->receive(soon());
  send(*server, 11);
  send(*server, 12);
  EXPECT_EQ(client->check(frame), FrameCheck::kOverwritten);
}

// Fault 6e.
TEST_F(VisionStream, RestartedServerIsFoundAndOldFramesStayMapped) {
  auto server = make_server();
  const auto client = make_client();
  client->maintain();
  send(*server, 1);
  const Frame old_frame = **client->receive(soon());
  const uint64_t old_server = server->server_id();
  for (int life = 0; life < 3; ++life) {
    server.reset();
    server = make_server();
    ASSERT_NE(server->server_id(), old_server);
    const Deadline deadline = soon(5 * kSecond);
    std::optional<Frame> frame;
    for (uint32_t id = 100; !frame && !deadline.passed(Clock::real()); ++id) {
      send(*server, id);
      frame = *client->receive(soon(20 * kMillisecond));
    }
    ASSERT_TRUE(frame.has_value()) << client->state().last_error;
    EXPECT_EQ(frame->info.server_id, server->server_id());
    EXPECT_EQ(client->state().server_id, server->server_id());
  }
  EXPECT_EQ(client->state().connects, 4u);
  EXPECT_EQ(old_frame.pixels().front(), std::byte{1});
  EXPECT_FALSE(client->is_torn(old_frame));
}

TEST_F(VisionStream, DeadServerIsNoticedWithoutNotifications) {
  ManualClock clock;
  auto server = make_server();
  const auto client = make_client(clock, true, 0);
  client->maintain();
  ASSERT_TRUE(client->state().connected);
  server.reset();
  clock.advance(900 * kMillisecond);
  client->maintain();
  EXPECT_TRUE(client->state().connected);
  clock.advance(200 * kMillisecond);
  client->maintain();
  EXPECT_FALSE(client->state().connected);
  EXPECT_NE(client->state().last_error.find("no frame server"), std::string::npos);
}

// Fault 7.
TEST_F(VisionStream, SilentServerEndsEveryWaitInTime) {
  const auto server = make_server();
  const auto client = make_client();
  for (int i = 0; i < 5; ++i) {
    const Nanoseconds start = Clock::real().monotonic();
    const auto frame = client->receive(soon(40 * kMillisecond));
    ASSERT_TRUE(frame.ok());
    EXPECT_FALSE(frame->has_value());
    EXPECT_LT(Clock::real().monotonic() - start, kSecond);
  }
  EXPECT_TRUE(client->state().connected);
  EXPECT_EQ(client->state().connects, 1u);
}

// Fault 6c. The tries come after 20 ms, then twice as late each time, at most 500 ms apart.
TEST_F(VisionStream, FieldFault6MissingStreamIsAStateWithANameAndTriedWithBackOff) {
  const auto server = make_server();
  ManualClock clock;
  const auto client = make_client(clock, true, 2);
  client->maintain();
  EXPECT_FALSE(client->state().connected);
  EXPECT_NE(client->state().last_error.find("stream 2"), std::string::npos);
  uint64_t tries = 1;
  for (const Nanoseconds pause : {20, 40, 80, 160, 320, 500, 500}) {
    clock.advance(pause * kMillisecond - 1);
    client->maintain();
    EXPECT_EQ(client->state().failed_connects, tries) << pause;
    clock.advance(1);
    client->maintain();
    EXPECT_EQ(client->state().failed_connects, ++tries) << pause;
  }
}

// A camera that comes late is not made to wait for a long back-off to end.
TEST_F(VisionStream, NotificationsCutTheBackOffShort) {
  ManualClock clock;
  const auto client = make_client(clock, true, 0);
  for (int i = 0; i < 10; ++i) {
    clock.advance(kSecond);
    client->maintain();
  }
  const auto server = make_server();
  clock.advance(kMillisecond);
  client->maintain();
  EXPECT_FALSE(client->state().connected);
  send(*server, 1);
  client->maintain();
  clock.advance(20 * kMillisecond);
  client->maintain();
  EXPECT_TRUE(client->state().connected);
}

// Fault 6d, from both ends.
TEST_F(VisionStream, FieldFault6StaleSocketPath) {
  const UniqueFd left_over(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_path().c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(left_over.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const auto client = make_client();
  client->maintain();
  EXPECT_FALSE(client->state().connected);
  EXPECT_NE(client->state().last_error.find("stale socket"), std::string::npos);
  const auto server = make_server();
  const Deadline deadline = soon();
  while (!client->state().connected && !deadline.passed(Clock::real())) {
    ASSERT_TRUE(client->receive(soon(10 * kMillisecond)).ok());
  }
  EXPECT_TRUE(client->state().connected);
}

TEST_F(VisionStream, SecondServerIsRefusedAndTheFirstKeepsItsPath) {
  const auto first = make_server();
  VisionServerOptions options;
  options.socket_dir = dir_.path();
  auto second = VisionServer::create(transport_, options);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ((*second)->start().error().code, ErrorCode::kIo);
  second->reset();
  EXPECT_TRUE(std::filesystem::exists(socket_path()));
}

// Fault 6f.
TEST_F(VisionStream, FieldFault6EightClientsAtOnce) {
  const auto server = make_server();
  std::vector<std::unique_ptr<VisionClient>> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(make_client());
  std::vector<std::thread> threads;
  for (auto& client : clients) {
    threads.emplace_back([&client] {
      const Deadline deadline = soon();
      while (!client->state().connected && !deadline.passed(Clock::real())) {
        ASSERT_TRUE(client->receive(soon(5 * kMillisecond)).ok());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (auto& client : clients) EXPECT_TRUE(client->state().connected);
}

TEST_F(VisionStream, ClientThatAsksNonsenseOrNothingDoesNotBlockOthers) {
  const auto server = make_server();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_path().c_str(), sizeof(address.sun_path) - 1);
  std::vector<UniqueFd> rude;
  for (const size_t bytes : {0u, 2u, 8u}) {
    rude.emplace_back(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
    ASSERT_EQ(::connect(rude.back().get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)),
              0);
    const char request[8] = {};
    if (bytes == 0) continue;
    ASSERT_EQ(::send(rude.back().get(), request, bytes, 0), static_cast<ssize_t>(bytes));
  }
  const auto client = make_client();
  const Deadline deadline = soon();
  while (!client->state().connected && !deadline.passed(Clock::real())) {
    ASSERT_TRUE(client->receive(soon(10 * kMillisecond)).ok());
  }
  EXPECT_TRUE(client->state().connected);
  char answer[8];
  for (size_t i = 1; i < rude.size(); ++i) {
    EXPECT_EQ(::recv(rude[i].get(), answer, sizeof(answer), 0), 0) << "closed without an answer";
  }
}

TEST_F(VisionStream, ListRequestsOfAllGenerations) {
  for (const uint32_t generation : {kListRequest, kListRequestOld, kListRequestOldest}) {
    VisionServerOptions options;
    options.socket_dir = dir_.path();
    options.list_request = generation;
    auto server = VisionServer::create(transport_, options);
    ASSERT_TRUE(server.ok());
    // In one generation 4 is a stream, in another it asks for the list.
    const uint32_t second = generation == kListRequestOldest ? 4 : 2;
    ASSERT_TRUE((*server)->add_stream(0, small_layout(), 2).ok());
    ASSERT_TRUE((*server)->add_stream(second, small_layout(), 2).ok());
    ASSERT_TRUE((*server)->start().ok());
    const size_t descriptors = open_descriptors();
    const auto streams = list_streams(socket_path(), Clock::real(), soon());
    ASSERT_TRUE(streams.ok()) << to_string(streams.error());
    EXPECT_EQ(*streams, (std::vector<uint32_t>{0, second}));
    EXPECT_TRUE(descriptors_settle(descriptors));
  }
  EXPECT_EQ(list_streams(socket_path(), Clock::real(), soon()).error().code, ErrorCode::kNotFound);
}

// Fault 6a, 6b and relatives: each ends in a named error, no descriptor stays open, and an honest
// answer afterwards connects.
TEST_F(VisionStream, FieldFault6BrokenHandShakesAreNamedAndLeakNothing) {
  struct Case {
    const char* name;
    std::function<void(int, ScriptBuffers&)> answer;
    const char* error;
  };
  const auto reply_with = [](int socket, std::span<const std::byte> bytes,
                             const std::vector<int>& fds) {
    EXPECT_TRUE(send_packet(socket, bytes, fds).ok());
  };
  const Case cases[] = {
      {"closes after accept", [](int, ScriptBuffers&) {}, "without an answer"},
      {"half the descriptors",
       [&](int socket, ScriptBuffers& buffers) {
         auto fds = buffers.fds();
         fds.resize(2);
         reply_with(socket, buffers.reply(), fds);
       },
       "unknown size"},
      {"no descriptors",
       [&](int socket, ScriptBuffers& buffers) { reply_with(socket, buffers.reply(), {}); },
       "descriptors out of range"},
      {"more descriptors than records",
       [&](int socket, ScriptBuffers& buffers) {
         auto fds = buffers.fds();
         fds.insert(fds.end(), fds.begin(), fds.end());
         reply_with(socket, buffers.reply(), fds);
       },
       "unknown size"},
      {"half a record",
       [&](int socket, ScriptBuffers& buffers) {
         const auto reply = buffers.reply();
         reply_with(socket, std::span(reply).first(reply.size() - 56), buffers.fds());
       },
       "unknown size"},
      {"a reply that is too long",
       [&](int socket, ScriptBuffers& buffers) {
         const std::vector<std::byte> reply(136 * 128 + 1);
         reply_with(socket, reply, buffers.fds());
       },
       "cut short"},
      {"file shorter than it says",
       [&](int socket, ScriptBuffers& buffers) {
         buffers.truncate(3, 1000);
         reply_with(socket, buffers.reply(), buffers.fds());
       },
       "shorter than its mapping"},
      {"an enormous picture",
       [&](int socket, ScriptBuffers& buffers) {
         buffers.records[1].length = uint64_t{1} << 60;
         buffers.records[1].mmap_length = (uint64_t{1} << 60) + 8;
         reply_with(socket, buffers.reply(), buffers.fds());
       },
       "shorter than its mapping"},
      {"stride below width",
       [&](int socket, ScriptBuffers& buffers) {
         buffers.records[0].layout.stride = 16;
         reply_with(socket, buffers.reply(), buffers.fds());
       },
       "stride"},
      {"something that is no file",
       [&](int socket, ScriptBuffers& buffers) {
         int pipe_fds[2];
         ASSERT_EQ(::pipe2(pipe_fds, O_CLOEXEC), 0);
         auto fds = buffers.fds();
         fds[2] = pipe_fds[0];
         reply_with(socket, buffers.reply(), fds);
         ::close(pipe_fds[0]);
         ::close(pipe_fds[1]);
       },
       "length of a buffer"},
  };
  for (const Case& each : cases) {
    ManualClock clock;
    const auto client = make_client(clock, true, 0);
    const size_t descriptors = open_descriptors();
    {
      ScriptServer server(socket_path(), [&](int socket, int64_t request) {
        EXPECT_EQ(request, 0);
        ScriptBuffers buffers(small_layout(), 4, 77, 0);
        each.answer(socket, buffers);
      });
      client->maintain();
    }
    EXPECT_FALSE(client->state().connected) << each.name;
    EXPECT_NE(client->state().last_error.find(each.error), std::string::npos)
        << each.name << ": " << client->state().last_error;
    EXPECT_TRUE(descriptors_settle(descriptors)) << each.name;
    const auto honest = make_server();
    clock.advance(kSecond);
    client->maintain();
    EXPECT_TRUE(client->state().connected) << each.name << ": " << client->state().last_error;
  }
}

TEST_F(VisionStream, FieldFault6DawdlingServerCostsABoundedTime) {
  std::atomic<bool> release{false};
  ScriptServer server(
      socket_path(),
      [&](int, int64_t) {
        while (!release) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      },
      false);
  const auto client = make_client();
  const Nanoseconds start = Clock::real().monotonic();
  client->maintain();
  EXPECT_LT(Clock::real().monotonic() - start, kSecond);
  EXPECT_FALSE(client->state().connected);
  EXPECT_NE(client->state().last_error.find("in time"), std::string::npos);
  release = true;
}

// Fault 6: ten thousand reconnects, good and bad hand-shakes in turn.
TEST_F(VisionStream, FieldFault6TenThousandReconnectsLeakNoDescriptor) {
  uint64_t server_id = 1;
  ScriptServer server(socket_path(), [&](int socket, int64_t) {
    ++server_id;
    ScriptBuffers buffers(small_layout(), 2, server_id, 0);
    auto fds = buffers.fds();
    if (server_id % 4 == 1) return;
    if (server_id % 4 == 2) fds.pop_back();
    if (server_id % 4 == 3) buffers.records[1].index = 7;
    static_cast<void>(send_packet(socket, buffers.reply(), fds));
  });
  ManualClock clock;
  const auto client = make_client(clock, true, 0);
  size_t descriptors = 0;
  for (int i = 0; i < 10000; ++i) {
    clock.advance(2 * kSecond);
    client->maintain();
    if (!client->state().connected && descriptors == 0) descriptors = open_descriptors();
  }
  EXPECT_EQ(client->state().connects + client->state().failed_connects, 10000u);
  EXPECT_EQ(client->state().connects, 2500u);
  while (client->state().connected) {
    clock.advance(2 * kSecond);
    client->maintain();
  }
  EXPECT_TRUE(descriptors_settle(descriptors));
}

class StrayPackets : public VisionStream {
 protected:
  void notify(const Notification& notification, size_t bytes = kNotificationBytes) {
    const auto packet = encode_notification(notification);
    EXPECT_TRUE(publisher_->send(std::span(packet).first(bytes)).ok());
  }

  ScriptBuffers buffers_{small_layout(), 4, 77, 0};
  std::atomic<int> hand_shakes_{0};
  ScriptServer server_{socket_path(), [this](int socket, int64_t) {
                         ++hand_shakes_;
                         EXPECT_TRUE(send_packet(socket, buffers_.reply(), buffers_.fds()).ok());
                       }};
  std::unique_ptr<Publisher> publisher_ = *transport_.publisher("visionipc_camerad_0");
  ManualClock clock_;
};

TEST_F(StrayPackets, AreCountedAndDoNotDisturb) {
  const auto client = make_client(clock_, false, 0);
  client->maintain();
  ASSERT_TRUE(client->state().connected);
  notify({77, 4, 1, 0, 0, true});                                          // no such buffer
  notify({77, UINT64_MAX, 1, 0, 0, true});                                 //
  notify({77, 0, 1, 0, 0, true}, 47);                                      // no such size
  for (uint64_t i = 0; i < 50; ++i) notify({1000 + i, 0, 1, 0, 0, true});  // other servers
  buffers_.write_id(2, 9);
  notify({77, 2, 9, 11, 12, false}, kOldNotificationBytes);  // a good one, of an old sender
  const auto frame = client->receive({clock_.monotonic()});
  ASSERT_TRUE(frame.ok() && frame->has_value());
  EXPECT_EQ((*frame)->info.frame_id, 9u);
  EXPECT_EQ((*frame)->info.timestamp_eof_ns, 12u);
  EXPECT_FALSE(client->is_torn(**frame));
  EXPECT_EQ(client->state().bad_packets, 3u);
  EXPECT_EQ(client->state().foreign_packets, 50u);
  EXPECT_LE(hand_shakes_, 2) << "stray packets must not cause a storm of hand-shakes";
  EXPECT_EQ(client->state().connects, 1u);
}

TEST_F(StrayPackets, FileCutShortLaterIsUnreadableNotACrash) {
  const auto client = make_client(clock_, true, 0);
  client->maintain();
  buffers_.write_id(0, 5);
  notify({77, 0, 5, 0, 0, true});
  const Frame frame = **client->receive({clock_.monotonic()});
  EXPECT_FALSE(client->is_torn(frame));
  buffers_.truncate(0, 0);
  EXPECT_EQ(client->check(frame), FrameCheck::kUnreadable);
  notify({77, 0, 9, 0, 0, true});
  EXPECT_FALSE(client->receive({clock_.monotonic()})->has_value());
  EXPECT_FALSE(client->state().connected);
}

// A publisher that does not write the id behind the pixels leaves an older one (facts 1.5).
TEST_F(StrayPackets, FrameWithoutItsIdIsTorn) {
  const auto client = make_client(clock_, true, 0);
  client->maintain();
  buffers_.write_id(1, 4);
  notify({77, 1, 8, 0, 0, true});
  EXPECT_EQ(client->check(**client->receive({clock_.monotonic()})), FrameCheck::kOverwritten);
}

std::unique_ptr<Transport> make_real_transport(const std::string& kind, const TempDir& dir) {
  if (kind == "msgq") {
    std::filesystem::create_directories(dir.path() / "msgq_bench7");
    MsgqOptions msgq;
    msgq.shm_dir = dir.path();
    msgq.prefix = "bench7";
    auto made = MsgqTransport::create(Clock::real(), msgq);
    EXPECT_TRUE(made.ok());
    return *std::move(made);
  }
  ZmqOptions zmq;
  zmq.kind = kind == "tcp" ? ZmqOptions::Kind::kTcp : ZmqOptions::Kind::kIpc;
  zmq.ipc_dir = dir.path();
  zmq.tcp_address = "127.78.0." + std::to_string(::getpid() % 250 + 1);
  auto made = ZmqTransport::create(Clock::real(), zmq);
  EXPECT_TRUE(made.ok());
  return *std::move(made);
}

// A camera server and a client, each restarted once, on a transport between processes.
class VisionOverTransport : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<VisionServer> make_server(RecordFormat format) {
    VisionServerOptions options;
    options.socket_dir = dir_.path();
    options.prefix = "bench7";
    options.format = format;
    auto server = VisionServer::create(*transport_, options);
    EXPECT_TRUE(server.ok());
    const auto layout = Nv12Layout::openpilot(1928, 1208);
    EXPECT_TRUE(layout.ok());
    // libzmq gives a TCP port back in its own time.
    const Deadline deadline = soon(5 * kSecond);
    Status added = (*server)->add_stream(2, *layout, 4);
    while (!added.ok() && !deadline.passed(Clock::real())) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      added = (*server)->add_stream(2, *layout, 4);
    }
    EXPECT_TRUE(added.ok()) << to_string(added.error());
    EXPECT_TRUE((*server)->start().ok());
    return *std::move(server);
  }

  // Frames until the client has one of this server.
  std::optional<Frame> frame_of(VisionServer& server, FrameStream& client) {
    const Deadline deadline = soon(5 * kSecond);
    for (uint32_t id = 1; !deadline.passed(Clock::real()); ++id) {
      server.next_buffer(2).back() = std::byte{42};
      EXPECT_TRUE(server.publish(2, id, 0, 0).ok());
      const auto frame = client.receive(soon(20 * kMillisecond));
      EXPECT_TRUE(frame.ok());
      if (frame->has_value() && (*frame)->info.server_id == server.server_id()) return *frame;
    }
    return std::nullopt;
  }

  TempDir dir_;
  std::unique_ptr<Transport> transport_ = make_real_transport(GetParam(), dir_);
};

TEST_P(VisionOverTransport, FramesArriveFromEveryLifeOfTheServer) {
  VisionClientOptions options;
  options.socket_dir = dir_.path();
  options.prefix = "bench7";
  options.stream_type = 2;
  const auto client = VisionClient::create(Clock::real(), *transport_, options);
  ASSERT_TRUE(client.ok()) << to_string(client.error());
  for (const RecordFormat format : {RecordFormat::kNewest, RecordFormat::kOlder}) {
    const auto server = make_server(format);
    const auto frame = frame_of(*server, **client);
    ASSERT_TRUE(frame.has_value()) << (*client)->state().last_error;
    EXPECT_EQ(frame->pixels().size(), 4804608u);  // facts 6.5
    EXPECT_EQ(frame->pixels().back(), std::byte{42});
    EXPECT_FALSE((*client)->is_torn(*frame));
    const auto streams =
        list_streams(dir_.path() / "bench7_visionipc_camerad", Clock::real(), soon());
    ASSERT_TRUE(streams.ok());
    EXPECT_EQ(*streams, std::vector<uint32_t>{2});
  }
  EXPECT_EQ((*client)->state().connects, 2u);
  const bool ring = std::filesystem::exists(dir_.path() / "msgq_bench7/visionipc_camerad_2");
  EXPECT_EQ(ring, GetParam() == "msgq");
}

INSTANTIATE_TEST_SUITE_P(Kinds, VisionOverTransport, testing::Values("ipc", "tcp", "msgq"),
                         [](const auto& kind) { return kind.param; });

}  // namespace
}  // namespace modeld::ipc
