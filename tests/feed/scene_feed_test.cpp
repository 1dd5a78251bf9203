#include "tools/feed/scene_feed.h"

#include <gtest/gtest.h>

#include "ipc/frames/vision_client.h"
#include "ipc/transport/memory_transport.h"
#include "tests/support/temp_dir.h"
#include "tools/images/draw.h"

namespace modeld {
namespace {

// Three real streams for half a second: about ten frames each, ids without gaps, pixels that are
// not torn, road pair together.
TEST(SceneFeed, ServesThreeCamerasInStep) {
  const test::TempDir folder;
  const Clock& clock = Clock::real();
  ipc::MemoryTransport transport(clock);
  SceneOptions options;
  options.socket_dir = folder.path();
  options.width = 320;
  options.height = 160;
  auto feed = SceneFeed::create(clock, transport, options, *draw_road_scene(320, 160),
                                *draw_cabin_scene(320, 160));
  ASSERT_TRUE(feed.ok()) << to_string(feed.error());
  std::vector<std::unique_ptr<ipc::VisionClient>> clients;
  for (const uint32_t stream : {ipc::kNarrowRoadStream, ipc::kWideRoadStream, ipc::kCabinStream}) {
    ipc::VisionClientOptions client;
    client.socket_dir = folder.path();
    client.stream_type = stream;
    client.conflate = false;
    clients.push_back(*ipc::VisionClient::create(clock, transport, client));
    clients.back()->maintain();
    ASSERT_TRUE(clients.back()->state().connected) << clients.back()->state().last_error;
  }
  const Nanoseconds end = clock.monotonic() + 500 * kMillisecond;
  ASSERT_TRUE((*feed)->run([&] { return clock.monotonic() >= end; }).ok());
  EXPECT_GE((*feed)->road_id(), 5u);
  EXPECT_LE((*feed)->road_id(), 11u);
  std::vector<std::vector<uint64_t>> times(3);
  for (size_t i = 0; i < clients.size(); ++i) {
    uint32_t id = 0;
    while (true) {
      const auto frame = clients[i]->receive(Deadline{clock.monotonic()});
      ASSERT_TRUE(frame.ok());
      if (!*frame) break;
      EXPECT_EQ((*frame)->info.frame_id, ++id);
      EXPECT_FALSE(clients[i]->is_torn(**frame));
      times[i].push_back((*frame)->info.timestamp_sof_ns);
    }
    EXPECT_EQ(id, i == 2 ? (*feed)->cabin_id() : (*feed)->road_id());
  }
  ASSERT_EQ(times[0].size(), times[1].size());
  for (size_t i = 0; i < times[0].size(); ++i) EXPECT_LT(times[1][i] - times[0][i], 10'000'000u);
}

}  // namespace
}  // namespace modeld
