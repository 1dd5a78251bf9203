// A car's cameras and messages, played from pictures in real time.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "ipc/frames/frame_source.h"
#include "ipc/frames/vision_server.h"
#include "ipc/transport/transport.h"
#include "runtime/base/clock.h"
#include "runtime/base/result.h"
#include "tools/feed/message_feed.h"
#include "tools/feed/moving_picture.h"
#include "tools/images/rgb_image.h"

namespace modeld {

struct SceneOptions {
  std::filesystem::path socket_dir = "/tmp";
  std::string prefix;
  std::string server = "camerad";
  uint32_t width = 1928;
  uint32_t height = 1208;
  uint32_t buffers = 18;  // as many as openpilot's camera server has
  bool messages = true;   // false: frames only
  ipc::NameSet names = ipc::NameSet::kNew;
};

// Frames at 20 Hz: narrow and wide road together, the cabin half a period later (interoperability
// facts 7.7); messages at the rates of facts 2.4. Frame ids start at 1 and have no gaps.
class SceneFeed {
 public:
  // The camera server answers when this returns.
  static Result<std::unique_ptr<SceneFeed>> create(const Clock& clock, ipc::Transport& transport,
                                                   const SceneOptions& options,
                                                   const RgbImage& road, const RgbImage& cabin);

  // Plays until `stop` says true (asked every 5 ms). Falling behind is caught up without skipping
  // an id. One thread at a time.
  Status run(const std::function<bool()>& stop);

  // Publishes `frames` more of every stream at once, with the pictures their buffers happen to
  // hold: a writer that laps its readers. On the thread that runs, from `stop`.
  Status lap(uint32_t frames);

  // While set, every byte of a picture is 0. From any thread.
  void set_dark(bool dark) { dark_ = dark; }

  // Null without messages. To be used on the thread that runs, from `stop`.
  MessageFeed* messages() { return messages_.get(); }

  // Newest frame ids sent so far; readable from any thread.
  uint32_t road_id() const { return road_id_.load(); }
  uint32_t cabin_id() const { return cabin_id_.load(); }

 private:
  SceneFeed(const Clock& clock, const SceneOptions& options, MovingPicture road,
            MovingPicture cabin);

  Status tick(uint64_t index);
  Status send_messages(uint64_t index);
  Status send_road();
  Status send_cabin();
  Status send_frame(uint32_t stream, const MovingPicture& picture, uint32_t id,
                    std::string_view state_service);

  const Clock& clock_;
  const SceneOptions options_;
  const MovingPicture road_;
  const MovingPicture cabin_;
  std::unique_ptr<ipc::VisionServer> server_;
  std::unique_ptr<MessageFeed> messages_;
  std::atomic<uint32_t> road_id_{0};
  std::atomic<uint32_t> cabin_id_{0};
  std::atomic<bool> dark_{false};
};

}  // namespace modeld
