// A recorded route as a live camera server and, where asked for, as the rest of the system.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "ipc/frames/vision_server.h"
#include "ipc/schema/message_reader.h"
#include "ipc/schema/message_writer.h"
#include "ipc/transport/topics.h"
#include "ipc/transport/transport.h"
#include "runtime/base/clock.h"
#include "runtime/base/result.h"
#include "tools/replay/frame_list.h"
#include "tools/replay/picture_reel.h"
#include "tools/replay/route_files.h"
#include "tools/replay/route_log.h"
#include "tools/replay/timeline.h"

namespace modeld::replay {

struct RouteFeedOptions {
  std::filesystem::path socket_dir = "/tmp";
  std::string prefix;
  std::string server = "camerad";
  uint32_t buffers = 18;  // as many as openpilot's camera server has
  bool messages = false;  // what the daemons listen to, too
  ipc::NameSet names = ipc::NameSet::kNew;
};

// Plays in the order and at the pace of the route; all times (of frames, of messages and inside
// camera states) are moved by one amount, so that the route happens now. Used by one thread.
class RouteFeed {
 public:
  // `files` and `log` outlive the feed. The camera server answers when this returns. kNotFound for
  // a route without a frame.
  static Result<std::unique_ptr<RouteFeed>> create(const Clock& clock, ipc::Transport& transport,
                                                   const RouteFiles& files, const RouteLog& log,
                                                   const RouteFeedOptions& options);

  // Returns at the end of the route, or when `stop` says so.
  Status run(const std::function<bool()>& stop);

  // Shown, and told of by the route without a picture that could be had.
  uint64_t shown(Camera camera) const { return shown_[index_of(camera)]; }
  uint64_t missing(Camera camera) const { return missing_[index_of(camera)]; }
  // Of the frames shown; nothing for a camera the route has not.
  std::optional<FrameSize> size(Camera camera) const;

 private:
  RouteFeed(const Clock& clock, ipc::Transport& transport, const RouteFiles& files,
            const RouteLog& log, const RouteFeedOptions& options);
  Status open_cameras();
  Status show(Camera camera, const RouteFrame& frame);
  Status send(const LoggedMessage& message);

  const Clock& clock_;
  ipc::Transport& transport_;
  const RouteFiles& files_;
  const RouteLog& log_;
  const RouteFeedOptions options_;
  std::unique_ptr<ipc::VisionServer> server_;
  PerCamera<FrameList> frames_;
  PerCamera<std::unique_ptr<PictureReel>> reels_;
  PerCamera<Nv12Layout> layouts_;
  std::vector<TimelineEntry> timeline_;
  std::map<std::string, std::unique_ptr<ipc::Publisher>, std::less<>> publishers_;
  ipc::MessageReader reader_;
  ipc::MessageWriter writer_;
  Nanoseconds frame_shift_ = 0;    // route -> CLOCK_BOOTTIME
  Nanoseconds message_shift_ = 0;  // route -> CLOCK_MONOTONIC
  PerCamera<uint64_t> shown_{};
  PerCamera<uint64_t> missing_{};
};

}  // namespace modeld::replay
