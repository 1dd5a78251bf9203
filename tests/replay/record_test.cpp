// Recording what a system shows, and showing what was recorded.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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
#include "tools/replay/packed_log.h"
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

// What would be there if the recorder ended now: a log that breaks off, with all that was flushed.
TEST_F(RecordTest, TheLogIsReadableWhileItGrows) {
  options_.log_flush = 0;
  SceneOptions scene;
  scene.socket_dir = folder_ / "cameras";
  scene.width = kWidth;
  scene.height = kHeight;
  auto feed = SceneFeed::create(Clock::real(), transport_, scene, *draw_road_scene(kWidth, kHeight),
                                *draw_cabin_scene(kWidth, kHeight));
  ASSERT_TRUE(feed.ok());
  const auto lock = folder_ / "routes" / "drive--0" / "rlog.lock";
  const auto load = [&] {
    const auto files = replay::find_route(folder_ / "routes");
    EXPECT_TRUE(files.ok()) << to_string(files.error());
    auto log = replay::RouteLog::load(*files);
    EXPECT_TRUE(log.ok()) << to_string(log.error());
    return std::move(log)->statistics();
  };
  uint64_t messages = 0;
  record([&](const auto& stop) { EXPECT_TRUE((*feed)->run(stop).ok()); },
         [&](const auto& so_far) {
           if (so_far.messages < 20) return false;
           const replay::LogStatistics statistics = load();
           EXPECT_EQ(statistics.cut_short, 1u);
           EXPECT_EQ(statistics.losses.truncated_bytes, 0u);
           EXPECT_GE(statistics.messages, 20u);
           EXPECT_TRUE(std::filesystem::exists(lock));
           messages = statistics.messages;
           return true;
         });
  const replay::LogStatistics whole = load();
  EXPECT_EQ(whole.cut_short, 0u);
  EXPECT_GT(whole.messages, messages);
  EXPECT_FALSE(std::filesystem::exists(lock));
}

// A process that writes a log is killed at any moment: what it had flushed before is there.
TEST_F(RecordTest, AKilledWriterLeavesWhatItFlushed) {
  const std::string message(1000, 'm');
  for (const char* const name : {"rlog.zst", "rlog"}) {
    for (int round = 0; round < 10; ++round) {
      int tell[2];
      ASSERT_EQ(pipe(tell), 0);
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        auto log = replay::PackedLog::create(folder_ / name);
        while (log.ok()) {
          if (!(*log)->add(std::as_bytes(std::span(message))).ok() || !(*log)->flush().ok()) break;
          if (write(tell[1], "f", 1) != 1) break;
        }
        _exit(1);
      }
      close(tell[1]);
      const int told = 3 + round * 7;
      char byte = 0;
      for (int i = 0; i < told; ++i) ASSERT_EQ(read(tell[0], &byte, 1), 1);
      ASSERT_EQ(kill(child, SIGKILL), 0);
      ASSERT_EQ(waitpid(child, nullptr, 0), child);
      close(tell[0]);
      const auto file = replay::read_log_file(folder_ / name);
      ASSERT_TRUE(file.ok()) << to_string(file.error());
      EXPECT_EQ(file->cut_short, std::string_view(name) == "rlog.zst");
      EXPECT_GE(file->bytes.size(), told * message.size());
      EXPECT_TRUE(std::all_of(file->bytes.begin(), file->bytes.end(),
                              [](std::byte each) { return each == std::byte{'m'}; }));
    }
  }
}

TEST_F(RecordTest, APackedLogIsTheLog) {
  for (const char* const name : {"rlog.zst", "rlog"}) {
    auto log = replay::PackedLog::create(folder_ / name);
    ASSERT_TRUE(log.ok()) << to_string(log.error());
    std::vector<std::byte> all;
    for (int i = 0; i < 200; ++i) {
      const std::vector<std::byte> part(i * 37, static_cast<std::byte>(i));
      ASSERT_TRUE((*log)->add(part).ok());
      if (i % 50 == 3) {
        ASSERT_TRUE((*log)->flush().ok());
      }
      all.insert(all.end(), part.begin(), part.end());
    }
    ASSERT_TRUE((*log)->finish().ok());
    const auto file = replay::read_log_file(folder_ / name);
    ASSERT_TRUE(file.ok());
    EXPECT_FALSE(file->cut_short);
    EXPECT_TRUE(file->bytes == all);
  }
  EXPECT_EQ(replay::PackedLog::create(folder_ / "rlog.bz2").error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_FALSE(replay::PackedLog::create(folder_ / "none" / "rlog.zst").ok());
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
