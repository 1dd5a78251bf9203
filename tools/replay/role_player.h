// One daemon's frame loop, fed by a replay.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/daemon_config.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/frame_loop.h"
#include "daemon/health/daemon_health.h"
#include "ipc/transport/transport.h"
#include "runtime/artifact/model.h"
#include "runtime/base/clock.h"
#include "runtime/base/result.h"
#include "runtime/device/device.h"
#include "tools/replay/camera_kind.h"
#include "tools/replay/replay_stream.h"

namespace modeld::replay {

// A model to replay a route through. Its contract says whether it is modeld's or
// dmonitoringmodeld's.
struct ReplayModel {
  Model model;
  std::unique_ptr<Device> device;
  std::string artifact;  // digest, or where it came from
  uint32_t threads = 0;
  DriverSeat driver_seat = DriverSeat::kLeft;  // of models that look at one seat
};

// What became of the frames of a role's main camera (narrow road, or wide road where there is no
// other; cabin): frames = published + all of dropped.
struct RoleReport {
  std::string role;
  std::string model;
  std::string artifact;
  uint64_t frames = 0;
  uint64_t published = 0;  // answered, valid or not
  uint64_t invalid = 0;
  std::map<std::string, uint64_t> invalid_reasons;
  std::map<std::string, uint64_t> dropped;
  uint64_t pairs_far_apart = 0;
  uint64_t wide_passed_over = 0;      // wide frames no narrow one wanted
  uint64_t wide_without_picture = 0;  // of the second road camera
  std::string first_invalid;          // why, in words
  std::vector<Nanoseconds> latency;   // of each answer, on the machine's clock
};

using MessageSink = std::function<Status(std::span<const std::byte>)>;

// Driven by one thread. The loops' own code decides everything but when a frame comes.
class RolePlayer {
 public:
  virtual ~RolePlayer() = default;

  // `cameras`: which there are. kNotFound if none of the role's is; kRefused for a contract the
  // role's loop refuses. `clock` and `transport` outlive the player; answers go to `sink` in the
  // order in which they are published.
  static Result<std::unique_ptr<RolePlayer>> create(const ManualClock& clock,
                                                    ipc::Transport& transport, ReplayModel model,
                                                    const PerCamera<FrameBuffers*>& cameras,
                                                    float actuator_delay, MessageSink sink);

  // Cameras this role looks at, of those there are.
  bool uses(Camera camera) const { return streams_[index_of(camera)] != nullptr; }

  // A frame comes: the loop runs until it has nothing more to do. An error ends the replay.
  Status show(Camera camera, const ipc::FrameInfo& info,
              std::shared_ptr<FrameBuffers::Buffer> buffer);
  // A frame the log tells of, without a picture: `reason` is counted.
  void miss(Camera camera, const std::string& reason);
  // Nothing follows: what is still waiting is counted.
  void finish();

  const RoleReport& report() const { return report_; }

 protected:
  RolePlayer(const ManualClock& clock, ReplayModel model, MessageSink sink);
  // The stream of a camera there is, which the caller hands to the loop.
  std::unique_ptr<ipc::FrameStream> add_stream(Camera camera, const Nv12Layout& layout,
                                               bool conflate);
  Status listen(ipc::Transport& transport, std::initializer_list<std::string_view> topics);

  const ManualClock& clock_;
  Engine engine_;
  DaemonHealth health_;
  std::unique_ptr<FrameLoop> loop_;
  std::function<const std::string&()> detail_;
  Camera main_ = Camera::kNarrowRoad;

 private:
  Status run();
  Status forward();

  MessageSink sink_;
  PerCamera<ReplayStream*> streams_{};  // owned by the loop
  std::vector<std::unique_ptr<ipc::Subscriber>> answers_;
  RoleReport report_;
};

// The size a role's model wants of a camera: the first its contract names; nothing if the model
// does not look at that camera.
std::optional<FrameSize> wanted_size(const Contract& contract, Camera camera);

}  // namespace modeld::replay
