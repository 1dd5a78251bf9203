// The driving loop on a digest device, two cameras in memory, a clock that is moved by hand and a
// transport inside the process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/driving/driving_loop.h"
#include "ipc/transport/memory_transport.h"
#include "tests/daemon/support/digest_device.h"
#include "tests/daemon/support/fake_camera.h"

namespace modeld::test {

// What a consumer sees of one frame.
struct Heard {
  std::string kind;  // newest name of the event
  bool valid = false;
  uint32_t frame_id = 0;
  uint32_t frame_id_extra = 0;
  float drop_perc = 0;
  std::vector<float> plan_x;   // position.x, or pose for cameraOdometry
  std::vector<std::byte> raw;  // rawPredictions
  bool finite = true;          // every number of the message looked at
};

struct BenchOptions {
  bool wide = true;
  size_t buffers = 8;
  FrameInput mode = FrameInput::kUpload;
  bool calibrate = true;  // send calibration and states before the first frame
  uint32_t width = 1344;
  uint32_t height = 760;
  bool refuse_stale = false;
  bool raw_predictions = false;
  uint32_t stride = 0;  // 0: openpilot's layout; else one with a gap before chroma
};

class DrivingBench {
 public:
  explicit DrivingBench(const BenchOptions& options = {});
  ~DrivingBench();

  // Moves the clock by one frame period and lets both cameras send frame `id`.
  void send_pair(uint32_t id, uint64_t picture);
  void send_narrow(uint32_t id, uint64_t picture);
  void send_wide(uint32_t id, uint64_t picture, int64_t skew_ns = 0);
  void tick() { clock.advance(kPeriod); }
  // One frame whole: pair, run.
  Status frame(uint32_t id) { return frame(id, id); }
  Status frame(uint32_t id, uint64_t picture) {
    send_pair(id, picture);
    return run_once();
  }
  Status run_once();

  void send_states();
  void send_calibration(float roll = 0, float pitch = 0, float yaw = 0);
  void send_car_state(float v_ego, bool left_blinker = false, bool steering_pressed = false,
                      float torque = 0);
  void send_lat_active(bool active);

  // Messages published since the last call, in order per topic.
  std::vector<Heard> model_v2();
  std::vector<Heard> driving_model_data();
  std::vector<Heard> camera_odometry();

  // Nobody subscribes to the published topics any more.
  void stop_listening();

  static constexpr Nanoseconds kPeriod = 50 * kMillisecond;
  ManualClock clock{100 * kSecond};
  ipc::MemoryTransport transport{clock};
  DigestScript script;
  Nv12Layout layout;
  std::unique_ptr<FakeCamera> narrow;
  std::unique_ptr<FakeCamera> wide;
  std::unique_ptr<Engine> engine;
  DaemonHealth health;
  std::unique_ptr<driving::DrivingLoop> loop;

 private:
  std::vector<Heard> hear(ipc::Subscriber& subscriber);
  void send(std::string_view topic, std::span<const std::byte> bytes);

  std::unique_ptr<ipc::Subscriber> model_v2_;
  std::unique_ptr<ipc::Subscriber> driving_model_data_;
  std::unique_ptr<ipc::Subscriber> camera_odometry_;
};

}  // namespace modeld::test
