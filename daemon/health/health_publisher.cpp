#include "daemon/health/health_publisher.h"

#include <capnp/message.h>

#include <cmath>

#include "ipc/schema/health.capnp.h"

namespace modeld {
namespace {

constexpr size_t kMessageBytes = 16 * 1024;  // measured: below 4 KiB

template <typename Wire, typename Enum>
Wire to_wire(Enum value) {
  return static_cast<Wire>(value);
}

// The two worlds number alike; the ends of both enumerations are compared here.
static_assert(static_cast<int>(wire::Health::State::FAULTED) ==
              static_cast<int>(HealthState::kFaulted));
static_assert(static_cast<int>(wire::Health::Reason::SANDBOX_INCOMPLETE) ==
              static_cast<int>(HealthReason::kSandboxIncomplete));
static_assert(static_cast<int>(wire::Health::Check::NOT_APPLICABLE) ==
              static_cast<int>(Check::kNotApplicable));
static_assert(static_cast<int>(wire::Health::InputMode::ZERO_COPY_DMA_BUF) ==
              static_cast<int>(PixelPath::kZeroCopyDmaBuf));

wire::Health::Check wire_check(Check check) {
  return to_wire<wire::Health::Check>(check);
}

const std::string& reason_text(const DaemonHealth& health) {
  switch (health.state.reason()) {
    case HealthReason::kRunningOnFallback:
      return health.fallback_text;
    case HealthReason::kSandboxIncomplete:
      return health.sandbox.text;
    default:
      return health.state.text();
  }
}

void fill_state(wire::Health::Builder message, const DaemonHealth& health, const Clock& clock) {
  const Nanoseconds boottime = clock.boottime();
  message.setProcess(health.process);
  message.setVersion(health.version);
  message.setBoottimeNs(static_cast<uint64_t>(boottime));
  message.setStartedBoottimeNs(static_cast<uint64_t>(health.started));
  message.setState(to_wire<wire::Health::State>(health.state.state()));
  message.setReason(to_wire<wire::Health::Reason>(health.state.reason()));
  message.setReasonText(reason_text(health));
  const Nanoseconds ago = clock.monotonic() - health.state.changed_at();
  message.setChangedBoottimeNs(static_cast<uint64_t>(boottime - ago));
  message.setPhase(health.start_up_step);
  auto readiness = message.initReadiness();
  readiness.setDeviceFound(wire_check(health.readiness.device_found));
  readiness.setFirmwareVerified(wire_check(health.readiness.firmware_verified));
  readiness.setMemoryReady(wire_check(health.readiness.memory_ready));
  readiness.setQueueReady(wire_check(health.readiness.queue_ready));
  readiness.setTaskCompleted(wire_check(health.readiness.task_completed));
  readiness.setOutputValid(wire_check(health.readiness.output_valid));
}

void fill_engine(wire::Health::Builder message, const DaemonHealth& health) {
  auto device = message.initDevice();
  device.setBackend(health.device.backend);
  device.setName(health.device.name);
  device.setDriver(health.device.driver);
  device.setDriverVersion(health.device.driver_version);
  device.setPrecision(health.device.precision);
  device.setThreads(static_cast<uint16_t>(health.device.threads));
  device.setCopyQueue(health.device.copy_queue);
  auto artifact = message.initArtifact();
  artifact.setName(health.artifact.name);
  artifact.setDigest(health.artifact.digest);
  artifact.setSigned(health.artifact.is_signed);
  artifact.setSigner(health.artifact.signer);
  artifact.setPath(health.artifact.path);
  message.setInputMode(to_wire<wire::Health::InputMode>(health.pixel_path));
  message.setInputModeText(health.pixel_path_text);
  message.setIsolation(health.isolated ? wire::Health::Isolation::PROCESS
                                       : wire::Health::Isolation::INLINE);
  message.setFallback(to_wire<wire::Health::Fallback>(health.fallback));
  message.setFallbackArtifact(health.fallback_artifact);
  message.setFallbackWarmHz(static_cast<float>(health.fallback_warm_hz));
  message.setFallbackCpuShare(static_cast<float>(health.fallback_cpu.share()));
  message.setExecutorRestarts(health.executor_restarts);
  auto self_test = message.initSelfTest();
  self_test.setResult(wire_check(health.self_test.result));
  self_test.setText(health.self_test.text);
  self_test.setWorstError(static_cast<float>(health.self_test.worst_error));
  self_test.setDurationMs(static_cast<float>(health.self_test.duration_ms));
  self_test.setFinishedBoottimeNs(static_cast<uint64_t>(health.self_test.finished));
}

void fill_sandbox(wire::Health::Builder message, const SandboxFacts& facts) {
  auto sandbox = message.initSandbox();
  sandbox.setLandlockAbi(static_cast<uint16_t>(facts.landlock_abi));
  sandbox.setFiles(wire_check(facts.files));
  sandbox.setSystemCalls(wire_check(facts.system_calls));
  sandbox.setAudit(wire_check(facts.audit));
  sandbox.setText(facts.text);
  auto findings = sandbox.initFindings(static_cast<uint32_t>(facts.findings.size()));
  for (uint32_t i = 0; i < findings.size(); ++i) {
    findings[i].setName(facts.findings[i].name);
    findings[i].setResult(wire_check(facts.findings[i].result));
    findings[i].setText(facts.findings[i].text);
  }
}

void fill_counters(wire::Health::Builder message, const FrameCounters& frames) {
  auto counts = message.initFrames();
  counts.setReceived(frames.received);
  counts.setPublished(frames.published);
  counts.setValid(frames.valid);
  counts.setInvalid(frames.published - frames.valid);
  auto drops = message.initDrops(kDropReasonCount + 2);
  for (uint32_t i = 0; i < kDropReasonCount; ++i) {
    drops[i].setName(to_string(static_cast<DropReason>(i)).data());
    drops[i].setCount(frames.drops[i]);
  }
  // Frames of the camera that never reached us, and partners that no main frame wanted.
  drops[kDropReasonCount].setName("missed");
  drops[kDropReasonCount].setCount(frames.missed);
  drops[kDropReasonCount + 1].setName("extraPassedOver");
  drops[kDropReasonCount + 1].setCount(frames.extra_passed_over);
  auto invalids = message.initInvalids(kInvalidReasonCount - 1);
  for (uint32_t i = 0; i + 1 < kInvalidReasonCount; ++i) {
    invalids[i].setName(to_string(static_cast<InvalidReason>(i + 1)).data());
    invalids[i].setCount(frames.invalids[i + 1]);
  }
}

void fill_phases(wire::Health::Builder message, const PhaseStatistics& phases) {
  auto list = message.initPhases(kFramePhaseCount);
  for (uint32_t i = 0; i < kFramePhaseCount; ++i) {
    const auto phase = static_cast<FramePhase>(i);
    const LatencySummary summary = summarise(phases.histogram(phase));
    list[i].setName(to_string(phase).data());
    list[i].setCount(summary.count);
    list[i].setP50Ms(static_cast<float>(summary.p50_ms));
    list[i].setP90Ms(static_cast<float>(summary.p90_ms));
    list[i].setP99Ms(static_cast<float>(summary.p99_ms));
    list[i].setP999Ms(static_cast<float>(summary.p999_ms));
    list[i].setMaxMs(static_cast<float>(summary.max_ms));
  }
  message.setDeadlineMs(static_cast<float>(phases.frame_budget()) / kMillisecond);
  message.setDeadlineMisses(phases.deadline_misses());
}

void fill_sources(wire::Health::Builder message, const DaemonHealth& health) {
  auto inputs = message.initInputs(static_cast<uint32_t>(health.inputs.size()));
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const InputFacts& facts = health.inputs[i];
    inputs[i].setTopic({facts.topic.data(), facts.topic.size()});
    inputs[i].setSeen(facts.seen);
    inputs[i].setAlive(facts.alive);
    inputs[i].setValid(facts.valid);
    inputs[i].setRateHz(static_cast<float>(facts.rate_hz));
    inputs[i].setRejected(facts.rejected);
    inputs[i].setRate(wire_check(facts.rate));
  }
  auto sensors = message.initSensors(static_cast<uint32_t>(health.sensors.size()));
  for (uint32_t i = 0; i < sensors.size(); ++i) {
    const SensorFacts& facts = health.sensors[i];
    sensors[i].setName(facts.name);
    sensors[i].setUnit(facts.unit);
    sensors[i].setValue(static_cast<float>(facts.reading.value));
    sensors[i].setKnown(facts.reading.known);
    sensors[i].setStale(facts.reading.stale);
  }
  auto streams = message.initStreams(static_cast<uint32_t>(health.streams.size()));
  for (uint32_t i = 0; i < streams.size(); ++i) {
    const StreamFacts& facts = health.streams[i];
    streams[i].setName(facts.name);
    streams[i].setTorn(facts.torn);
    if (facts.state == nullptr) continue;
    streams[i].setConnected(facts.state->connected);
    streams[i].setConnects(static_cast<uint32_t>(facts.state->connects));
    streams[i].setBuffers(static_cast<uint16_t>(facts.state->num_buffers));
    streams[i].setWidth(facts.state->layout.width);
    streams[i].setHeight(facts.state->layout.height);
    streams[i].setLastError(facts.state->last_error);
    streams[i].setSkipped(facts.state->skipped);
  }
}

}  // namespace

HealthPublisher::HealthPublisher(std::unique_ptr<ipc::Publisher> publisher, const Clock& clock,
                                 double rate_hz)
    : publisher_(std::move(publisher)),
      clock_(clock),
      period_(std::llround(kSecond / rate_hz)),
      writer_(kMessageBytes) {}

bool HealthPublisher::due(const DaemonHealth& health) const {
  return sent_ == 0 || health.state.changes() != sent_changes_ ||
         clock_.monotonic() - last_ >= period_;
}

Status HealthPublisher::publish(const DaemonHealth& health) {
  auto message = writer_.begin().initRoot<wire::Health>();
  fill_state(message, health, clock_);
  fill_engine(message, health);
  fill_sandbox(message, health.sandbox);
  fill_counters(message, health.frames);
  fill_phases(message, health.phases);
  fill_sources(message, health);
  ++sent_;
  sent_changes_ = health.state.changes();
  last_ = clock_.monotonic();
  MODELD_ASSIGN(const auto bytes, writer_.finish());
  return publisher_->send(bytes);
}

}  // namespace modeld
