#include "daemon/service/daemon_service.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "daemon/engine/open_engine.h"
#include "daemon/service/device_retry.h"
#include "daemon/service/scheduling.h"
#include "ipc/transport/open_transport.h"
#include "ipc/transport/zmq_transport.h"

namespace modeld {
namespace {

constexpr Nanoseconds kPoll = 100 * kMillisecond;
// The transport sends on threads of its own, which end with the process.
constexpr Nanoseconds kLastWords = 50 * kMillisecond;

HealthLimits limits_of(const DaemonConfig& config) {
  HealthLimits limits;
  limits.frame_budget = config.deadlines.frame_budget;
  return limits;
}

HealthReason reason_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kRefused:
    case ErrorCode::kCorrupt:
      return HealthReason::kArtifactRefused;
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
    case ErrorCode::kPermission:
      return HealthReason::kConfiguration;
    case ErrorCode::kCheckFailed:
      return HealthReason::kSelfTestFailed;
    case ErrorCode::kDeviceLost:
      return HealthReason::kDeviceLost;
    case ErrorCode::kDevice:
    case ErrorCode::kUnsupported:
    case ErrorCode::kExhausted:
      return HealthReason::kDeviceError;
    case ErrorCode::kDeadline:
      return HealthReason::kWaitingForDevice;
    case ErrorCode::kInterrupted:
      return HealthReason::kShuttingDown;
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      break;
  }
  return HealthReason::kInternal;
}

Nanoseconds warm_period(const DaemonConfig& config) {
  return static_cast<Nanoseconds>(kSecond / config.fallback.warm_hz);
}

ipc::TransportKind transport_kind(TransportKind configured) {
  switch (configured) {
    case TransportKind::kZmqTcp:
      return ipc::TransportKind::kZmqTcp;
    case TransportKind::kMsgq:
      return ipc::TransportKind::kMsgq;
    case TransportKind::kZmqIpc:
      break;
  }
  return ipc::TransportKind::kZmqIpc;
}

}  // namespace

std::filesystem::path topic_dir(const DaemonConfig& config) {
  return config.transport.ipc_dir.empty() ? ipc::default_ipc_dir() : config.transport.ipc_dir;
}

DaemonService::DaemonService(const DaemonConfig& config, const ServiceEnvironment& environment,
                             ModelRole role, ipc::Role ipc_role, std::string_view health_topic)
    : config_(config),
      environment_(environment),
      role_(role),
      ipc_role_(ipc_role),
      health_topic_(health_topic),
      notifier_(environment.clock),
      health_(std::string(to_string(config.kind)), environment.version, limits_of(config),
              environment.clock) {}

DaemonService::~DaemonService() = default;

ipc::NameSet DaemonService::names() const {
  return config_.transport.names == TopicNames::kNew ? ipc::NameSet::kNew : ipc::NameSet::kOld;
}

LoopEnvironment DaemonService::loop_environment() {
  return {environment_.clock, *transport_, *engine_, health_};
}

void DaemonService::step(std::string_view what) {
  health_.start_up_step = what;
  if (!what.empty()) {
    notifier_.status(what);
    spdlog::info("step=\"{}\"", what);
  }
  publish_health();
}

void DaemonService::publish_health() {
  if (!publisher_) return;
  const Status sent = publisher_->publish(health_);
  if (!sent.ok()) spdlog::warn("health message not sent: {}", to_string(sent.error()));
}

// State changes go to the journal and to the service manager, not every frame.
void DaemonService::note_state() {
  if (health_.state.changes() == noted_changes_) return;
  noted_changes_ = health_.state.changes();
  const auto state = to_string(health_.state.state());
  const auto reason = to_string(health_.state.reason());
  spdlog::info("state={} reason={} received={} published={} valid={}", state, reason,
               health_.frames.received, health_.frames.published, health_.frames.valid);
  notifier_.status(std::string(state) + " (" + std::string(reason) + ")");
}

Status DaemonService::open_transport() {
  const ipc::TransportOptions options{transport_kind(config_.transport.kind), topic_dir(config_),
                                      environment_.socket_prefix, ipc_role_};
  MODELD_ASSIGN(transport_, ipc::open_transport(environment_.clock, options));
  MODELD_ASSIGN(auto topic, transport_->publisher(health_topic_));
  publisher_ = std::make_unique<HealthPublisher>(std::move(topic), environment_.clock,
                                                 config_.health.rate_hz);
  return {};
}

// Without a place to write to there are no traces; that is no reason not to drive.
void DaemonService::start_flight_writer() {
  const auto folder = state_folder(config_.state.dir);
  if (!folder) {
    spdlog::info("no folder for traces of deadline misses (state.dir)");
    return;
  }
  auto writer =
      FlightWriter::start(environment_.clock, {.folder = *folder, .process = health_.process});
  if (writer.ok()) {
    flight_writer_ = std::move(writer).value();
  } else {
    spdlog::warn("no traces of deadline misses: {}", to_string(writer.error()));
  }
}

Status DaemonService::open_engine_and_prove() {
  step("opening the artifact");
  MODELD_ASSIGN(OpenedEngine opened, open_engine(config_, role_, surroundings()));
  engine_ = std::move(opened.engine);
  health_.artifact = std::move(opened.artifact);
  health_.device = std::move(opened.device);
  fallback_artifact_ = std::move(opened.fallback_artifact);
  fallback_device_ = std::move(opened.fallback_device);
  fallback_processor_time_ = std::move(opened.fallback_processor_time);
  if (fallback_artifact_) {
    health_.fallback_artifact = fallback_artifact_->name + " " + fallback_artifact_->digest;
    health_.fallback_warm_hz = config_.fallback.warm_hz;
  }
  health_.readiness = engine_->readiness();
  if (!health_.artifact.is_signed) {
    health_.state.set_standing(HealthReason::kArtifactUnsigned, environment_.clock.monotonic());
  }
  spdlog::info("artifact=\"{}\" digest={} signed={} backend={} device=\"{}\"",
               health_.artifact.name, health_.artifact.digest, health_.artifact.is_signed,
               health_.device.backend, health_.device.name);
  health_.isolated = config_.device.isolation == Isolation::kProcess;
  if (opened.primary_failure) {
    spdlog::error("{}: starting on the fallback", to_string(*opened.primary_failure));
    health_.took_over(to_string(*opened.primary_failure), environment_.clock.monotonic());
  }
  health_.state.begin_self_test(environment_.clock.monotonic());
  step("recording and self-test");
  MODELD_TRY(prove());
  MODELD_TRY(engine_->seal());
  spdlog::info("self-test passed in {:.0f} ms, worst error {:.3f} of what is allowed",
               health_.self_test.duration_ms, health_.self_test.worst_error);
  health_.state.self_test_passed(environment_.clock.monotonic());
  return {};
}

// Everything that executes or generates code has run by now.
Status DaemonService::seal_sandbox() {
  if (environment_.sandbox == nullptr) return {};
  step("sealing the sandbox");
  const Status sealed = environment_.sandbox->seal();
  health_.sandbox = environment_.sandbox->facts();
  if (health_.sandbox.complete()) {
    spdlog::info("sandbox complete, landlock_abi={}", health_.sandbox.landlock_abi);
  } else if (sealed.ok()) {
    spdlog::warn("sandbox incomplete: {}", health_.sandbox.text);
    // Nothing is better than degraded without it; that the fallback answers weighs more.
    if (engine_->fallback() != FallbackState::kActive) {
      health_.state.set_standing(HealthReason::kSandboxIncomplete, environment_.clock.monotonic());
    }
  }
  return sealed;
}

void DaemonService::start_sensors() {
  auto reader = SensorReader::start(environment_.clock, find_sensors("/sys"));
  if (!reader.ok()) {
    spdlog::warn("no sensors: {}", to_string(reader.error()));
    return;
  }
  sensors_ = std::move(reader).value();
  for (size_t i = 0; i < sensors_->size(); ++i) {
    health_.sensors.push_back({sensors_->source(i).name, sensors_->source(i).unit, {}});
  }
}

void DaemonService::refresh_sensors() {
  for (size_t i = 0; i < health_.sensors.size(); ++i) {
    health_.sensors[i].reading = sensors_->reading(i);
  }
}

// In good health otherwise: a device that comes late is no fault yet.
Status DaemonService::wait_for_device(const Error& why, Nanoseconds pause) {
  spdlog::warn("{}: trying again", to_string(why));
  step("waiting for the device");
  note_progress();
  MODELD_TRY(transport_->wait({}, Deadline::after(environment_.clock, pause)));
  if (environment_.stop_requested()) return Error(ErrorCode::kInterrupted, "asked to stop");
  return {};
}

Status DaemonService::prove() {
  Status proven = prove_once();
  if (proven.ok() || proven.error().code == ErrorCode::kInterrupted) return proven;
  if (!engine_->fail_over()) return proven;
  health_.took_over(to_string(proven.error()), environment_.clock.monotonic());
  note_fallback();
  return prove_once();
}

Status DaemonService::prove_once() {
  // Every run is progress.
  const auto stop = [this] {
    note_progress();
    return environment_.stop_requested();
  };
  Status proven = prove_engine(*engine_, config_, environment_.clock, stop, health_.self_test);
  health_.readiness = engine_->readiness();
  if (proven.ok()) note_fallback();
  return proven;
}

void DaemonService::note_fallback() {
  if (engine_->fallback() == FallbackState::kWarm && fallback_processor_time_) {
    health_.fallback_cpu.note(fallback_processor_time_(), environment_.clock.monotonic());
  }
  const auto fallback = static_cast<uint8_t>(engine_->fallback());
  if (fallback == health_.fallback) return;
  health_.fallback = fallback;
  if (engine_->fallback() == FallbackState::kWarm) return;
  health_.fallback_warm_hz = 0;
  health_.fallback_cpu.forget();
  if (engine_->fallback() == FallbackState::kActive) {
    spdlog::error("the fallback took over: {}", health_.fallback_text);
    if (fallback_artifact_) health_.artifact = *fallback_artifact_;
    if (fallback_device_) health_.device = *fallback_device_;
  } else {
    spdlog::warn("there is no fallback any more");
  }
}

EngineSurroundings DaemonService::surroundings() {
  return {environment_.spawner, [this] { note_progress(); }};
}

void DaemonService::note_progress() {
  notifier_.loading(config_.deadlines.load);
}

// By the policy of the supervision: a fallback is one way, without one the executor is started
// again. Everything else that ends a loop ends the daemon.
bool DaemonService::may_restart(const Error& why) const {
  const bool device_failed =
      may_come_late(why) || why.code == ErrorCode::kDeadline || why.code == ErrorCode::kCheckFailed;
  return device_failed && health_.isolated && engine_->fallback() != FallbackState::kActive &&
         engine_->fallback() != FallbackState::kWarm;
}

Status DaemonService::restart(FrameLoop& loop, const Error& why) {
  Error cause = why;
  while (true) {
    if (health_.executor_restarts >= config_.device.restarts) {
      return Error(cause).in("executor, started again " +
                             std::to_string(health_.executor_restarts) +
                             " times (device.restarts)");
    }
    Status went = restart_once(cause);
    if (went.ok()) break;
    // It failed again before it was proven: that is one of the times, too.
    if (!may_come_late(went.error())) return went;
    cause = went.error();
  }
  health_.state.recovered(environment_.clock.monotonic());
  loop.resume();
  step("");
  note_state();
  return {};
}

Status DaemonService::restart_once(const Error& why) {
  ++health_.executor_restarts;
  engine_->set_restartable(health_.executor_restarts < config_.device.restarts);
  spdlog::error("{}: starting the executor again, {} of {}", to_string(why),
                health_.executor_restarts, config_.device.restarts);
  health_.state.fault(HealthReason::kRestarting, to_string(why), environment_.clock.monotonic());
  note_state();
  step("starting the executor again");
  const auto attempt = [this]() -> Status {
    MODELD_TRY(restart_executor(*engine_, config_, health_.artifact.digest, surroundings()));
    MODELD_TRY(prove_once());
    return engine_->seal();
  };
  Status went = retry_device(
      {.patience = config_.device.patience}, environment_.clock, attempt,
      [this](const Error& late, Nanoseconds pause) { return wait_for_device(late, pause); });
  if (went.ok() || went.error().code == ErrorCode::kInterrupted) return went;
  return Error(went.error()).in("after " + to_string(why));
}

Status DaemonService::wait_for(std::string_view what,
                               const std::function<Result<Answer>()>& ready) {
  step(what);
  while (!environment_.stop_requested()) {
    MODELD_ASSIGN(const Answer answer, ready());
    if (answer.ready) return {};
    health_.state.no_frame(answer.why, environment_.clock.monotonic());
    note_state();
    if (publisher_->due(health_)) publish_health();
    notifier_.progress();
    MODELD_TRY(transport_->wait({}, Deadline::after(environment_.clock, kPoll)));
  }
  return Error(ErrorCode::kInterrupted, "asked to stop").in(what);
}

void DaemonService::keep_trace() {
  if (!flight_writer_) return;
  flight_writer_->offer(health_.flight);
  const uint64_t failed = flight_writer_->failed();
  if (failed == traces_failed_) return;
  traces_failed_ = failed;
  spdlog::warn(
      "trace of deadline misses not written (state.dir: full, or not to be written to); "
      "{} so far",
      failed);
}

Status DaemonService::answer_frames(FrameLoop& loop) {
  step("");
  while (!environment_.stop_requested()) {
    Status went = loop.run_once(Deadline::after(environment_.clock, kPoll));
    engine_->keep_fallback_warm(environment_.clock, warm_period(config_));
    note_fallback();
    note_state();
    keep_trace();
    if (publisher_->due(health_)) {
      loop.refresh_health();
      refresh_sensors();
      publish_health();
    }
    if (!went.ok()) {
      if (!may_restart(went.error())) return went;
      MODELD_TRY(restart(loop, went.error()));
    }
    // A device that hangs must not be fed on: the service manager ends what this process cannot.
    if (health_.state.state() != HealthState::kStalled) notifier_.progress();
  }
  loop.stop();
  loop.refresh_health();
  return Error(ErrorCode::kInterrupted, "asked to stop");
}

Status DaemonService::serve() {
  MODELD_TRY(open_transport());
  MODELD_TRY(retry_device(
      {.patience = config_.device.patience}, environment_.clock,
      [this] { return open_engine_and_prove(); },
      [this](const Error& why, Nanoseconds pause) {
        engine_.reset();
        return wait_for_device(why, pause);
      }));
  MODELD_TRY(seal_sandbox());
  if (environment_.stop_requested()) return Error(ErrorCode::kInterrupted, "asked to stop");
  start_flight_writer();
  start_sensors();
  ask_for_real_time(config_.scheduling.realtime_priority);
  if (config_.scheduling.lock_memory) ask_for_locked_memory();
  ready_ = true;
  notifier_.ready();
  MODELD_ASSIGN(loop_, make_loop());
  return answer_frames(*loop_);
}

void DaemonService::end_with(const Error& error) {
  health_.state.fault(reason_of(error), to_string(error), environment_.clock.monotonic());
  // A device inside this process that hangs cannot be ended from here.
  if (ready_ && error.code == ErrorCode::kDeadline && !health_.isolated) {
    notifier_.status(to_string(error));
    notifier_.stalled();
  } else {
    notifier_.stopping();
  }
  if (error.code == ErrorCode::kInterrupted) {
    spdlog::info("stopping: received={} published={} valid={}", health_.frames.received,
                 health_.frames.published, health_.frames.valid);
  } else {
    spdlog::error("{}", to_string(error));
    notifier_.status(to_string(error));
  }
  publish_health();
  if (publisher_ && error.code != ErrorCode::kInterrupted) {
    static_cast<void>(transport_->wait({}, Deadline::after(environment_.clock, kLastWords)));
  }
}

Status DaemonService::run() {
  Status ended = serve();
  if (!ended.ok()) end_with(ended.error());
  return ended;
}

}  // namespace modeld
