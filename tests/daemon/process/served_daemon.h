// A daemon as a process with frames to answer, and somebody who listens.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "ipc/transport/zmq_transport.h"
#include "tests/daemon/process/daemon_process.h"
#include "tools/demo/answer_log.h"
#include "tools/feed/scene_feed.h"
#include "tools/images/draw.h"

namespace modeld {

// The cabin's daemon with frames at 20 Hz, and somebody who listens.
class ServedDaemon : public DaemonProcess {
 protected:
  void serve(const std::string& settings, const std::filesystem::path& trust = models_->trust) {
    ipc::ZmqOptions zmq;
    zmq.ipc_dir = folder_ / "ipc";
    auto transport = ipc::ZmqTransport::create(real(), zmq);
    ASSERT_TRUE(transport.ok()) << to_string(transport.error());
    transport_ = std::move(transport).value();
    auto log = AnswerLog::create(real(), *transport_);
    ASSERT_TRUE(log.ok());
    answers_ = std::move(log).value();
    child_.emplace(
        start(DMONITORINGMODELD_PROGRAM, config(models_->monitoring, false, trust) + settings));
    start_cameras();
  }
  void start_cameras() {
    SceneOptions scene;
    scene.socket_dir = folder_ / "cameras";
    auto feed = SceneFeed::create(real(), *transport_, scene, *draw_road_scene(482, 302),
                                  *draw_cabin_scene(482, 302));
    ASSERT_TRUE(feed.ok()) << to_string(feed.error());
    feed_ = std::move(feed).value();
    stop_ = false;
    thread_ =
        std::thread([this] { EXPECT_TRUE(feed_->run([this] { return stop_.load(); }).ok()); });
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
  bool listen_until(const std::function<bool()>& condition) {
    return wait_for([&] {
      EXPECT_TRUE(answers_->listen(Deadline::after(real(), 20 * kMillisecond)).ok());
      return condition();
    });
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
  std::thread thread_;
};

}  // namespace modeld
