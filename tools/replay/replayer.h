// A route through the daemons' own frame loops, under a clock that only the route moves.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ipc/transport/memory_transport.h"
#include "runtime/base/clock.h"
#include "runtime/base/result.h"
#include "tools/replay/frame_list.h"
#include "tools/replay/pacer.h"
#include "tools/replay/picture_reel.h"
#include "tools/replay/role_player.h"
#include "tools/replay/route_files.h"
#include "tools/replay/route_log.h"
#include "tools/replay/timeline.h"

namespace modeld::replay {

struct ReplayOptions {
  double start = 0;                     // s after the first frame
  double duration = 0;                  // s; 0: to the end
  double rate = 0;                      // of the route's own speed; 0: as fast as possible
  std::optional<float> actuator_delay;  // s; else from the route's carParams, else 0
  std::function<bool()> stop = [] { return false; };
  std::function<void(double)> progress = [](double) {};  // 0 .. 1
};

// Of one camera the replay looks at.
struct CameraReport {
  std::string camera;
  uint64_t listed = 0;    // frames the route tells of
  uint64_t repeated = 0;  // entries for an id already known
  FrameSize size;         // as shown to the daemon
  std::vector<std::string> notes;
};

struct ReplayReport {
  std::vector<RoleReport> roles;
  std::vector<CameraReport> cameras;
  LogStatistics log;
  float actuator_delay = 0;
  bool actuator_delay_known = false;
  Nanoseconds first = 0;  // time of the first and last thing that happened in the replay
  Nanoseconds last = 0;
  std::optional<std::pair<uint32_t, uint32_t>> road_ids;  // smallest and largest frame id shown
  std::optional<std::pair<uint32_t, uint32_t>> cabin_ids;
};

// `sink` gets every message the daemons publish, in order. kInterrupted when stopped.
class Replayer {
 public:
  // `files` and `log` outlive the replayer. At most one model of a role.
  static Result<std::unique_ptr<Replayer>> create(const RouteFiles& files, const RouteLog& log,
                                                  std::vector<ReplayModel> models,
                                                  ReplayOptions options, MessageSink sink);

  Result<ReplayReport> run();

  // When the first frame comes; messages of a log start here.
  Nanoseconds begin() const { return begin_; }

 private:
  Replayer(const RouteFiles& files, const RouteLog& log, ReplayOptions options)
      : files_(files),
        log_(log),
        options_(std::move(options)),
        pacer_(options_.rate, options_.stop) {}

  Status prepare_cameras(const std::vector<ReplayModel>& models);
  Status prepare_times();
  Status play(const TimelineEntry& entry);
  Status deliver(const LoggedMessage& message);
  Status show(const TimelineEntry& entry);
  ReplayReport make_report() const;

  const RouteFiles& files_;
  const RouteLog& log_;
  const ReplayOptions options_;
  Pacer pacer_;
  // The oldest first: players use the transport and the clock.
  ManualClock clock_;
  ipc::MemoryTransport transport_{clock_};
  std::map<std::string, std::unique_ptr<ipc::Publisher>, std::less<>> publishers_;
  PerCamera<FrameList> frames_;
  PerCamera<std::unique_ptr<PictureReel>> reels_;
  PerCamera<std::unique_ptr<FrameBuffers>> buffers_;
  PerCamera<bool> scale_{};
  std::vector<TimelineEntry> timeline_;
  std::vector<std::unique_ptr<RolePlayer>> players_;
  Nanoseconds begin_ = 0;
  Nanoseconds end_ = 0;
  float actuator_delay_ = 0;
  PerCamera<std::optional<std::pair<uint32_t, uint32_t>>> shown_;
};

}  // namespace modeld::replay
