// Recording what a system shows, and showing what was recorded.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "ipc/schema/log.capnp.h"
#include "ipc/schema/read_message.h"
#include "ipc/transport/memory_transport.h"
#include "tests/replay/replay_bench.h"
#include "tools/feed/message_feed.h"
#include "tools/feed/scene_feed.h"
#include "tools/images/draw.h"
#include "tools/replay/frame_list.h"
#include "tools/replay/picture_source.h"
#include "tools/replay/route_feed.h"
#include "tools/replay/route_recorder.h"

namespace modeld::test {
namespace {

using replay::Camera;

constexpr uint32_t kWidth = 320;
constexpr uint32_t kHeight = 160;

class RecordTest : public ReplayBench {
 protected:
  RecordTest() {
    std::filesystem::create_directory(folder_ / "cameras");
    std::filesystem::create_directory(folder_ / "params");
    options_.folder = folder_ / "routes";
    options_.route = "drive";
    options_.version = "test";
    options_.socket_dir = folder_ / "cameras";
    options_.params_dir = folder_ / "params";
    EXPECT_TRUE(MessageFeed::write_car_params(folder_ / "params").ok());
  }
  // Records while `play` runs on a thread of its own, and until `enough` says so.
  replay::RecordReport record(const std::function<void(const std::function<bool()>&)>& play,
                              const std::function<bool(const replay::RecordReport&)>& enough) {
    auto recorder = replay::RouteRecorder::create(Clock::real(), transport_, options_);
    EXPECT_TRUE(recorder.ok()) << to_string(recorder.error());
    if (!recorder.ok()) return {};
    std::atomic<bool> stop{false};
    std::thread player([&] { play([&] { return stop.load(); }); });
    const Deadline patience = Deadline::after(Clock::real(), 60 * kSecond);
    const Status ran = (*recorder)->run(
        [&] { return enough((*recorder)->report()) || patience.passed(Clock::real()); });
    EXPECT_TRUE(ran.ok()) << to_string(ran.error());
    stop = true;
    player.join();
    return (*recorder)->report();
  }

  ipc::MemoryTransport transport_{Clock::real()};
  replay::RecordOptions options_;
};

TEST_F(RecordTest, EveryRecordedPictureIsTheOneThatWasShown) {
  for (const bool hevc : {false, true}) {
    options_.hevc = hevc;
    options_.route = hevc ? "hevc" : "ffv1";
    SceneOptions scene;
    scene.socket_dir = folder_ / "cameras";
    scene.width = kWidth;
    scene.height = kHeight;
    const RgbImage road = *draw_road_scene(kWidth, kHeight);
    const RgbImage cabin = *draw_cabin_scene(kWidth, kHeight);
    auto feed = SceneFeed::create(Clock::real(), transport_, scene, road, cabin);
    ASSERT_TRUE(feed.ok()) << to_string(feed.error());
    const auto report = record(
        [&](const auto& stop) { EXPECT_TRUE((*feed)->run(stop).ok()); },
        [](const auto& so_far) { return so_far.cameras[index_of(Camera::kCabin)].recorded >= 6; });
    EXPECT_GE(report.cameras[index_of(Camera::kNarrowRoad)].recorded, 6u);
    EXPECT_GT(report.messages, 20u);

    const auto files = replay::find_route(folder_ / "routes" / options_.route);
    ASSERT_TRUE(files.ok()) << to_string(files.error());
    const auto log = replay::RouteLog::load(*files);
    ASSERT_TRUE(log.ok());
    ASSERT_TRUE(log->actuator_delay().has_value());
    EXPECT_GT(*log->actuator_delay(), 0);
    EXPECT_FALSE(log->messages().empty());
    const Nv12Layout layout = *Nv12Layout::openpilot(kWidth, kHeight);
    for (const Camera camera : {Camera::kNarrowRoad, Camera::kCabin}) {
      const auto picture = MovingPicture::create(camera == Camera::kCabin ? cabin : road, layout);
      const auto list = replay::list_frames(camera, *files, *log);
      ASSERT_TRUE(list.ok());
      EXPECT_EQ(list->frames.size(), report.cameras[index_of(camera)].recorded);
      auto source = replay::open_pictures(files->segments[0].pictures[index_of(camera)]);
      ASSERT_TRUE(source.ok()) << to_string(source.error());
      for (const replay::RouteFrame& frame : list->frames) {
        std::vector<std::byte> want(layout.length);
        std::vector<std::byte> found(layout.length);
        picture->write(frame.frame_id, want);
        ASSERT_EQ(*(*source)->read(frame.picture, layout, found), replay::PictureRead::kRead);
        EXPECT_TRUE(want == found) << frame.frame_id;
        // The state of the last one may have come after the end.
        EXPECT_TRUE(frame.message.has_value() || &frame == &list->frames.back()) << frame.frame_id;
      }
    }
  }
}

// A route that is served live and recorded again is the same route: the daemons answer the same.
TEST_F(RecordTest, ServedAndRecordedAgainItGivesTheSameAnswers) {
  RouteOptions route;
  route.frames = 6;
  RouteBuilder(route).write(folder_ / "original");
  const auto want = play(folder_ / "original");
  const auto files = replay::find_route(folder_ / "original");
  const auto log = replay::RouteLog::load(*files);
  ASSERT_TRUE(log.ok());
  replay::RouteFeedOptions feeding;
  feeding.socket_dir = folder_ / "cameras";
  feeding.messages = true;
  auto feed = replay::RouteFeed::create(Clock::real(), transport_, *files, *log, feeding);
  ASSERT_TRUE(feed.ok()) << to_string(feed.error());
  options_.params_dir.clear();
  const auto report = record(
      [&](const auto& stop) { EXPECT_TRUE((*feed)->run(stop).ok()); },
      [](const auto& so_far) { return so_far.cameras[index_of(Camera::kCabin)].recorded >= 6; });
  for (const Camera camera : replay::kCameras) {
    EXPECT_EQ(report.cameras[index_of(camera)].recorded, 6u) << names_of(camera).name;
  }
  EXPECT_EQ((*feed)->shown(Camera::kNarrowRoad), 6u);
  auto again = request(folder_ / "routes" / "drive");
  again.options.actuator_delay = 0.25f;  // carParams is no topic the daemons listen to
  const auto found = play(again);
  const replay::Comparison comparison = replay::compare_logs(want.log, found.log, {});
  std::vector<std::string> differing;
  for (const auto& field : comparison.fields) {
    if (field.differing != 0) differing.push_back(field.field);
  }
  // The camera's clock is another one.
  EXPECT_THAT(differing,
              testing::UnorderedElementsAre("modelV2.timestampEof", "cameraOdometry.timestampEof"));
  for (const auto& [kind, id] : comparison.missing) ADD_FAILURE() << kind << " " << id;
  EXPECT_TRUE(comparison.extra.empty());
}

TEST_F(RecordTest, SegmentsFollowEachOther) {
  options_.segment = 300 * kMillisecond;
  SceneOptions scene;
  scene.socket_dir = folder_ / "cameras";
  scene.width = kWidth;
  scene.height = kHeight;
  auto feed = SceneFeed::create(Clock::real(), transport_, scene, *draw_road_scene(kWidth, kHeight),
                                *draw_cabin_scene(kWidth, kHeight));
  ASSERT_TRUE(feed.ok());
  const auto report = record([&](const auto& stop) { EXPECT_TRUE((*feed)->run(stop).ok()); },
                             [](const auto& so_far) { return so_far.segments >= 4; });
  const auto files = replay::find_route(folder_ / "routes");
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(files->segments.size(), report.segments);
  const auto log = replay::RouteLog::load(*files);
  ASSERT_TRUE(log.ok());
  const auto list = replay::list_frames(Camera::kCabin, *files, *log);
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list->frames.size(), report.cameras[index_of(Camera::kCabin)].recorded);
  uint32_t with_picture = 0;
  for (const auto& frame : list->frames) with_picture += frame.segment ? 1 : 0;
  EXPECT_EQ(with_picture, list->frames.size());
}

}  // namespace
}  // namespace modeld::test
