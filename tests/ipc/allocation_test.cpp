// The steady state allocates nothing: receiving, checking, reading, building and sending messages
// over memory that is already there.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "ipc/frames/vision_client.h"
#include "ipc/frames/vision_server.h"
#include "ipc/schema/message_writer.h"
#include "ipc/schema/read_message.h"
#include "ipc/transport/memory_transport.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/temp_dir.h"

namespace modeld::ipc {
namespace {

// One frame in, one message built, sent, received and read.
class Cycle {
 public:
  Cycle() {
    VisionServerOptions server_options;
    server_options.socket_dir = dir_.path();
    server_ = *VisionServer::create(transport_, server_options);
    const Nv12Layout layout{32, 16, 64, 64 * 16, 64 * 24};
    EXPECT_TRUE(server_->add_stream(0, layout, 4).ok());
    EXPECT_TRUE(server_->start().ok());
    VisionClientOptions client_options;
    client_options.socket_dir = dir_.path();
    client_ = *VisionClient::create(Clock::real(), transport_, client_options);
    publisher_ = *transport_.publisher("modelV2");
    subscriber_ = *transport_.subscriber("modelV2", SubscribeMode::kQueue);
    client_->maintain();
    EXPECT_TRUE(client_->state().connected) << client_->state().last_error;
  }

  bool run() {
    if (!server_->publish(0, ++frame_id_, 1, 2).ok()) return false;
    const auto frame = client_->receive(Deadline::after(Clock::real(), kSecond));
    if (!frame.ok() || !*frame || client_->is_torn(**frame)) return false;
    auto event = writer_.begin().initRoot<wire::Event>();
    auto model = event.initModelV2();
    model.setFrameId((*frame)->info.frame_id);
    auto x = model.initPosition().initX(33);
    for (unsigned i = 0; i < 33; ++i) x.set(i, static_cast<float>(i));
    const auto bytes = writer_.finish();
    if (!bytes.ok() || !publisher_->send(*bytes).ok()) return false;
    const auto message = subscriber_->receive();
    if (!message.ok() || !*message) return false;
    uint32_t read_id = 0;
    const auto status = read_event(reader_, **message, [&](wire::Event::Reader read) {
      read_id = read.getModelV2().getFrameId();
    });
    return status.ok() && read_id == frame_id_;
  }

 private:
  modeld::test::TempDir dir_;
  MemoryTransport transport_{Clock::real(), Role::kDesk, 8};
  std::unique_ptr<VisionServer> server_;
  std::unique_ptr<VisionClient> client_;
  std::unique_ptr<Publisher> publisher_;
  std::unique_ptr<Subscriber> subscriber_;
  MessageWriter writer_{16384};
  MessageReader reader_;
  uint32_t frame_id_ = 0;
};

TEST(SteadyState, AllocatesNothing) {
  if (!modeld::test::counts_allocations()) GTEST_SKIP() << "a sanitizer owns malloc";
  Cycle cycle;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(cycle.run());
  const uint64_t before = modeld::test::allocation_count();
  ASSERT_GT(before, 0u) << "the counter counts";
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(cycle.run());
  EXPECT_EQ(modeld::test::allocation_count() - before, 0u);
}

}  // namespace
}  // namespace modeld::ipc
