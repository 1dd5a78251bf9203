// A daemon as a process with frames to answer, and somebody who listens.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "ipc/schema/log.capnp.h"
#include "ipc/schema/message_reader.h"
#include "ipc/schema/read_message.h"
#include "ipc/transport/zmq_transport.h"
#include "tests/daemon/process/daemon_process.h"
#include "tools/demo/answer_log.h"
#include "tools/feed/message_feed.h"
#include "tools/feed/scene_feed.h"
#include "tools/images/draw.h"

namespace modeld {

// Time stamps of frames, set forward and back; durations stay what they are.
class SteppedClock final : public Clock {
 public:
  Nanoseconds monotonic() const override { return real().monotonic(); }
  Nanoseconds boottime() const override { return real().boottime() + step_.load(); }
  void step(Nanoseconds by) { step_ = by; }

 private:
  std::atomic<Nanoseconds> step_{0};
};

// A daemon with frames at 20 Hz, and somebody who listens.
class ServedDaemon : public DaemonProcess {
 protected:
  // The cabin's.
  void serve(const std::string& settings, const std::filesystem::path& trust = models_->trust) {
    begin_listening();
    child_.emplace(
        start(DMONITORINGMODELD_PROGRAM, config(models_->monitoring, false, trust) + settings));
    start_cameras();
  }
  // The road's.
  void serve_road(const std::string& settings, const std::filesystem::path& trust) {
    begin_listening();
    ASSERT_TRUE(MessageFeed::write_car_params(folder_ / "params").ok());
    child_.emplace(start(MODELD_PROGRAM, config(models_->driving, true, trust) + settings));
    start_cameras();
  }
  void begin_listening() {
    ipc::ZmqOptions zmq;
    zmq.ipc_dir = folder_ / "ipc";
    auto transport = ipc::ZmqTransport::create(real(), zmq);
    ASSERT_TRUE(transport.ok()) << to_string(transport.error());
    transport_ = std::move(transport).value();
    auto log = AnswerLog::create(real(), *transport_);
    ASSERT_TRUE(log.ok());
    answers_ = std::move(log).value();
  }
  void start_cameras() {
    SceneOptions scene;
    scene.socket_dir = folder_ / "cameras";
    auto feed = SceneFeed::create(camera_clock_, *transport_, scene, *draw_road_scene(482, 302),
                                  *draw_cabin_scene(482, 302));
    ASSERT_TRUE(feed.ok()) << to_string(feed.error());
    feed_ = std::move(feed).value();
    stop_ = false;
    thread_ =
        std::thread([this] { EXPECT_TRUE(feed_->run([this] { return between_ticks(); }).ok()); });
  }
  // Has `action` done on the thread of the cameras, once, right behind the next frame of the road.
  void on_next_frame(std::function<void()> action) {
    const std::lock_guard lock(mutex_);
    action_ = std::move(action);
  }
  bool between_ticks() {
    const uint32_t newest = feed_->road_id();
    if (newest != std::exchange(seen_, newest)) {
      const std::lock_guard lock(mutex_);
      if (action_) std::exchange(action_, nullptr)();
    }
    return stop_.load();
  }
  void stop_cameras() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    feed_.reset();
  }
  void TearDown() override {
    stop_cameras();
    DaemonProcess::TearDown();
  }

  const HeardHealth& health() const { return answers_->monitoring().health; }
  const HeardHealth& road_health() const { return answers_->driving().health; }
  bool listen_until(const std::function<bool()>& condition) {
    return wait_for([&] {
      EXPECT_TRUE(answers_->listen(Deadline::after(real(), 20 * kMillisecond)).ok());
      return condition();
    });
  }
  // Frames that were accepted and not answered.
  static uint64_t dropped(const HeardHealth& heard) {
    uint64_t sum = 0;
    for (const auto& [name, count] : heard.drops) {
      // These two count what never was accepted.
      if (name != "missed" && name != "extraPassedOver") sum += count;
    }
    return sum;
  }
  static uint64_t answered_invalid(const HeardHealth& heard) {
    uint64_t sum = 0;
    for (const auto& [name, count] : heard.invalids) sum += count;
    return sum;
  }
  // Every accepted frame was answered or counted, but for the one in hand.
  static void expect_accounted(const HeardHealth& heard) {
    const uint64_t ended = heard.published + dropped(heard);
    EXPECT_GE(heard.received, ended);
    EXPECT_LE(heard.received - ended, 1u);
  }
  // Whether the last valid modelV2 says that the first of two devices answered.
  bool last_is_big() const {
    ipc::MessageReader reader;
    bool big = false;
    EXPECT_TRUE(ipc::read_event(reader, answers_->last_model(), [&](wire::Event::Reader event) {
                  big = event.getModelV2().getBig();
                }).ok());
    return big;
  }
  pid_t spawner() const { return child_named(child_->pid(), "spawner"); }
  pid_t executor() const { return child_named(spawner(), "executor"); }
  void signal_executor(int number) {
    const pid_t pid = executor();
    ASSERT_GT(pid, 0) << log_text();
    EXPECT_EQ(kill(pid, number), 0);
  }

  std::unique_ptr<ipc::Transport> transport_;
  std::unique_ptr<AnswerLog> answers_;
  std::optional<ChildProcess> child_;
  std::unique_ptr<SceneFeed> feed_;
  std::atomic<bool> stop_{false};
  SteppedClock camera_clock_;
  std::mutex mutex_;
  std::function<void()> action_;
  uint32_t seen_ = 0;  // by the thread of the cameras
  std::thread thread_;
};

}  // namespace modeld
