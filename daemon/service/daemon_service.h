// A daemon from start to end: engine, self-test, READY, cameras, frames, health, stop.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/daemon_config.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/frame_loop.h"
#include "daemon/engine/open_engine.h"
#include "daemon/health/daemon_health.h"
#include "daemon/health/flight_writer.h"
#include "daemon/health/health_publisher.h"
#include "daemon/health/sensor_reader.h"
#include "daemon/privileges/sandbox.h"
#include "daemon/service/service_notifier.h"
#include "daemon/supervise/spawner.h"
#include "ipc/transport/topics.h"
#include "ipc/transport/transport.h"
#include "runtime/artifact/contract.h"
#include "runtime/base/clock.h"
#include "runtime/base/result.h"

namespace modeld {

// What main() knows of the world around the process.
struct ServiceEnvironment {
  const Clock& clock;
  std::function<bool()> stop_requested;
  std::string socket_prefix;  // of the camera server's socket
  std::string version;
  // What this process has given up; the service seals it before READY. None in tests.
  Sandbox* sandbox = nullptr;
  supervise::Spawner* spawner = nullptr;  // for executors; null where nothing is isolated
};

// The folder of the daemon's own topics.
std::filesystem::path topic_dir(const DaemonConfig& config);

// Driven by one thread.
class DaemonService {
 public:
  DaemonService(const DaemonConfig& config, const ServiceEnvironment& environment, ModelRole role,
                ipc::Role ipc_role, std::string_view health_topic);
  virtual ~DaemonService();

  // Returns when stop is requested (kInterrupted) or when the daemon cannot go on. The last health
  // message says why.
  Status run();

 protected:
  // Everything after READY that needs the outside world: may wait_for() it.
  virtual Result<std::unique_ptr<FrameLoop>> make_loop() = 0;

  // Asks `ready` every 100 ms until it says true, in good health, with the watchdog fed.
  // `ready` may change what health says by answering a reason. kInterrupted when stop is requested.
  struct Answer {
    bool ready = false;
    HealthReason why = HealthReason::kStartUp;
  };
  Status wait_for(std::string_view step, const std::function<Result<Answer>()>& ready);

  const DaemonConfig& config() const { return config_; }
  const ServiceEnvironment& environment() const { return environment_; }
  ipc::Transport& transport() { return *transport_; }
  ipc::NameSet names() const;
  LoopEnvironment loop_environment();

 private:
  Status serve();
  Status open_transport();
  Status open_engine_and_prove();
  Status seal_sandbox();
  Status prove();
  Status prove_once();
  EngineSurroundings surroundings();
  void note_progress();
  bool may_restart(const Error& why) const;
  Status restart(FrameLoop& loop, const Error& why);
  Status restart_once(const Error& why);
  Status wait_for_device(const Error& why, Nanoseconds pause);
  void note_fallback();
  void keep_trace();
  Status answer_frames(FrameLoop& loop);
  void step(std::string_view what);
  void publish_health();
  void note_state();
  void start_flight_writer();
  void start_sensors();
  void refresh_sensors();
  void end_with(const Error& error);

  const DaemonConfig config_;
  const ServiceEnvironment environment_;
  const ModelRole role_;
  const ipc::Role ipc_role_;
  const std::string_view health_topic_;
  ServiceNotifier notifier_;
  DaemonHealth health_;
  std::unique_ptr<ipc::Transport> transport_;
  std::unique_ptr<HealthPublisher> publisher_;
  std::unique_ptr<Engine> engine_;
  // Health points at the loop's streams and topics, so the loop stays until the last health message
  // is out; it uses the transport and the engine, so it goes before them.
  std::unique_ptr<FrameLoop> loop_;
  std::unique_ptr<SensorReader> sensors_;        // nothing where there is no thread for it
  std::unique_ptr<FlightWriter> flight_writer_;  // nothing without a folder to write to
  uint64_t traces_failed_ = 0;                   // as far as told
  std::optional<ArtifactFacts> fallback_artifact_;
  std::optional<DeviceFacts> fallback_device_;
  std::function<Nanoseconds()> fallback_processor_time_;
  bool ready_ = false;
  uint64_t noted_changes_ = 0;
};

}  // namespace modeld
