#include "tools/feed/scene_feed.h"

#include <time.h>

#include <algorithm>
#include <utility>

namespace modeld {
namespace {

constexpr Nanoseconds kTick = 5 * kMillisecond;
// In ticks.
constexpr uint64_t kFramePeriod = 10;       // 20 Hz
constexpr uint64_t kCabinOffset = 5;        // half a frame period
constexpr uint64_t kCarPeriod = 2;          // 100 Hz
constexpr uint64_t kSlowPeriod = 50;        // 4 Hz
constexpr uint64_t kDevicePeriod = 100;     // 2 Hz
constexpr uint64_t kExposure = 10'000'000;  // ns

void sleep_until(Nanoseconds at) {
  timespec when{};
  when.tv_sec = at / kSecond;
  when.tv_nsec = at % kSecond;
  // A signal ends the sleep early; the tick then comes early, once.
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr);
}

}  // namespace

SceneFeed::SceneFeed(const Clock& clock, const SceneOptions& options, MovingPicture road,
                     MovingPicture cabin)
    : clock_(clock), options_(options), road_(std::move(road)), cabin_(std::move(cabin)) {}

Result<std::unique_ptr<SceneFeed>> SceneFeed::create(const Clock& clock, ipc::Transport& transport,
                                                     const SceneOptions& options,
                                                     const RgbImage& road, const RgbImage& cabin) {
  MODELD_ASSIGN(const Nv12Layout layout, Nv12Layout::openpilot(options.width, options.height));
  MODELD_ASSIGN(MovingPicture road_picture, MovingPicture::create(road, layout));
  MODELD_ASSIGN(MovingPicture cabin_picture, MovingPicture::create(cabin, layout));
  std::unique_ptr<SceneFeed> feed(
      new SceneFeed(clock, options, std::move(road_picture), std::move(cabin_picture)));
  ipc::VisionServerOptions server;
  server.socket_dir = options.socket_dir;
  server.prefix = options.prefix;
  server.server = options.server;
  MODELD_ASSIGN(feed->server_, ipc::VisionServer::create(transport, server));
  for (const uint32_t stream : {ipc::kNarrowRoadStream, ipc::kWideRoadStream, ipc::kCabinStream}) {
    MODELD_TRY(feed->server_->add_stream(stream, layout, options.buffers));
  }
  if (options.messages) {
    MODELD_ASSIGN(feed->messages_,
                  MessageFeed::create(clock, transport, options.names, options.height));
  }
  MODELD_TRY(feed->server_->start());
  return feed;
}

Status SceneFeed::run(const std::function<bool()>& stop) {
  const Nanoseconds begin = clock_.monotonic();
  for (uint64_t index = 0; !stop(); ++index) {
    sleep_until(begin + static_cast<Nanoseconds>(index) * kTick);
    MODELD_TRY(tick(index));
  }
  return {};
}

Status SceneFeed::tick(uint64_t index) {
  if (messages_) MODELD_TRY(send_messages(index));
  if (index % kFramePeriod == 0) MODELD_TRY(send_road());
  if (index % kFramePeriod == kCabinOffset) MODELD_TRY(send_cabin());
  return {};
}

Status SceneFeed::send_messages(uint64_t index) {
  if (index % kDevicePeriod == 0) MODELD_TRY(messages_->device_state());
  if (index % kSlowPeriod == 0) {
    MODELD_TRY(messages_->calibration());
    MODELD_TRY(messages_->lateral_delay());
  }
  if (index % kFramePeriod == 0) MODELD_TRY(messages_->driver_monitoring_state());
  if (index % kCarPeriod == 0) {
    MODELD_TRY(messages_->car_state());
    MODELD_TRY(messages_->car_control());
  }
  return {};
}

Status SceneFeed::send_frame(uint32_t stream, const MovingPicture& picture, uint32_t id,
                             std::string_view state_service) {
  const auto pixels = server_->next_buffer(stream);
  if (dark_) {
    std::fill(pixels.begin(), pixels.end(), std::byte{0});
  } else {
    picture.write(id, pixels);
  }
  const auto eof = static_cast<uint64_t>(clock_.boottime());
  const uint64_t sof = eof - kExposure;
  MODELD_TRY(server_->publish(stream, id, sof, eof));
  return messages_ ? messages_->camera_state(state_service, id, sof, eof) : Status();
}

Status SceneFeed::lap(uint32_t frames) {
  const auto now = static_cast<uint64_t>(clock_.boottime());
  for (uint32_t i = 0; i < frames; ++i) {
    const uint32_t road = road_id_.load() + 1, cabin = cabin_id_.load() + 1;
    MODELD_TRY(server_->publish(ipc::kNarrowRoadStream, road, now - kExposure, now));
    MODELD_TRY(server_->publish(ipc::kWideRoadStream, road, now - kExposure, now));
    MODELD_TRY(server_->publish(ipc::kCabinStream, cabin, now - kExposure, now));
    road_id_ = road;
    cabin_id_ = cabin;
  }
  return {};
}

Status SceneFeed::send_road() {
  const uint32_t id = road_id_.load() + 1;
  MODELD_TRY(send_frame(ipc::kNarrowRoadStream, road_, id, "narrowRoadCameraState"));
  MODELD_TRY(send_frame(ipc::kWideRoadStream, road_, id, "wideRoadCameraState"));
  road_id_ = id;
  return {};
}

Status SceneFeed::send_cabin() {
  const uint32_t id = cabin_id_.load() + 1;
  MODELD_TRY(send_frame(ipc::kCabinStream, cabin_, id, "cabinCameraState"));
  cabin_id_ = id;
  return {};
}

}  // namespace modeld
