#include "daemon/engine/open_engine.h"

#include <algorithm>
#include <utility>

#include "daemon/supervise/executor_device.h"
#include "runtime/artifact/artifact.h"
#include "runtime/artifact/sha256.h"
#include "runtime/artifact/signing.h"
#include "runtime/device/backends.h"
#include "runtime/selftest/self_test.h"

namespace modeld {
namespace {

Result<TrustPolicy> trust_policy(const ArtifactSettings& settings) {
  TrustPolicy policy;
  policy.allow_unsigned = settings.allow_unsigned;
  auto keys = load_trusted_keys(settings.trust);
  if (keys.ok()) {
    policy.keys = std::move(keys).value();
  } else if (!settings.allow_unsigned) {
    Error error = std::move(keys).error();
    error.code = ErrorCode::kInvalidArgument;
    return std::move(error).in("artifact.trust");
  }
  return policy;
}

std::string signer_of(SignatureState state, const TrustPolicy& policy) {
  if (state != SignatureState::kTrusted) return "";
  if (policy.keys.size() == 1) return key_id(policy.keys[0]);
  return "one of " + std::to_string(policy.keys.size()) + " trusted keys";
}

ArtifactFacts artifact_facts(const Artifact& artifact, const ArtifactSettings& settings,
                             const TrustPolicy& policy) {
  ArtifactFacts facts;
  facts.name = artifact.model().contract.name;
  facts.digest = to_hex(artifact.digest());
  facts.is_signed = artifact.signature() == SignatureState::kTrusted;
  facts.signer = signer_of(artifact.signature(), policy);
  facts.path = settings.path.string();
  return facts;
}

DeviceFacts device_facts(const DeviceCapabilities& capabilities, const Contract& contract,
                         uint32_t threads) {
  DeviceFacts facts;
  facts.backend = capabilities.backend;
  facts.name = capabilities.name;
  facts.driver = capabilities.driver;
  facts.driver_version = capabilities.driver_version;
  facts.precision = to_string(contract.precision);
  facts.threads = threads;
  facts.copy_queue = capabilities.copy_queue == Probed::kYes;
  facts.on_host = capabilities.device_class == DeviceClass::kCpu;
  return facts;
}

// Largest error over what was allowed, of all slices.
double worst_of(const SelfTestReport& report) {
  double worst = 0;
  for (const SliceResult& slice : report.slices) {
    if (slice.allowed > 0) worst = std::max(worst, slice.difference / slice.allowed);
  }
  return worst;
}

}  // namespace

namespace {

Result<Artifact> open_artifact(const DaemonConfig& config, ModelRole role,
                               const TrustPolicy& policy) {
  Requirements requirements;
  requirements.role = role;
  // Known before any device is opened: opencl means a GPU unless a software device was asked for.
  const bool gpu = config.device.backend == "opencl" && !config.device.software;
  requirements.device_class = gpu ? DeviceClass::kGpu : DeviceClass::kCpu;
  auto artifact = Artifact::open(config.artifact.path, policy, requirements);
  if (artifact.ok()) return artifact;
  Error error = std::move(artifact).error();
  // Missing or unreadable: the configuration names a file that cannot be had.
  if (error.code != ErrorCode::kRefused) error.code = ErrorCode::kInvalidArgument;
  return error;
}

Result<std::unique_ptr<Device>> open_executor(const DaemonConfig& config,
                                              supervise::Spawner& spawner,
                                              supervise::ExecutorKind kind,
                                              const std::string& digest) {
  supervise::ExecutorDevice::Options options;
  options.kind = kind;
  options.deadlines.load = config.deadlines.load;
  options.deadlines.answer = config.deadlines.inference;
  options.mirror_states = config.fallback.enabled && kind == supervise::ExecutorKind::kPrimary;
  options.digest = digest;
  MODELD_ASSIGN(auto device, supervise::ExecutorDevice::open(spawner, options));
  return std::unique_ptr<Device>(std::move(device));
}

CaptureOptions capture_options(const DaemonConfig& config, uint32_t threads) {
  CaptureOptions capture;
  capture.threads = threads;
  capture.load_deadline = config.deadlines.load;
  return capture;
}

BackendOptions backend_options(const DaemonConfig& config, uint32_t threads) {
  BackendOptions options;
  options.threads = threads;
  options.device = config.device.name;
  options.software_device = config.device.software;
  return options;
}

uint32_t fallback_threads(const DaemonConfig& config) {
  return config.fallback.threads != 0 ? config.fallback.threads : config.device.threads;
}

Status open_isolated(const DaemonConfig& config, const Artifact& artifact,
                     supervise::Spawner& spawner, OpenedEngine& opened) {
  const std::string digest = to_hex(artifact.digest());
  auto device = open_executor(config, spawner, supervise::ExecutorKind::kPrimary, digest);
  if (!config.fallback.enabled) {
    if (!device.ok()) return std::move(device).error();
    opened.engine = std::make_unique<Engine>(artifact.model(), std::move(device).value(),
                                             capture_options(config, config.device.threads));
    return {};
  }
  auto fallback = open_executor(config, spawner, supervise::ExecutorKind::kFallback, digest);
  const CaptureOptions options = capture_options(config, fallback_threads(config));
  if (device.ok()) {
    opened.engine = std::make_unique<Engine>(artifact.model(), std::move(device).value(),
                                             capture_options(config, config.device.threads));
    if (fallback.ok()) opened.engine->set_fallback(std::move(fallback).value(), options);
    return {};
  }
  // Nobody is left.
  if (!fallback.ok()) return std::move(device).error();
  opened.primary_failure = device.error();
  opened.engine = std::make_unique<Engine>(artifact.model(), std::move(fallback).value(), options);
  opened.engine->start_on_fallback();
  return {};
}

Result<SelfTestReport> test_capture(Engine& engine, Device& device, Capture& capture,
                                    const DaemonConfig& config, const std::function<bool()>& stop) {
  SelfTestOptions options;
  options.repeats = config.selftest.repeats;
  options.threads = config.device.threads;
  options.replay_deadline = std::min(options.replay_deadline, config.deadlines.load);
  options.stop = stop;
  auto report =
      run_self_test(capture, engine.contract(), device.capabilities().device_class, options);
  if (!report.ok() && report.error().code == ErrorCode::kDeadline) device.abandon();
  return report;
}

void prove_fallback(Engine& engine, std::span<const FrameBinding> frames,
                    const DaemonConfig& config, const std::function<bool()>& stop) {
  Capture* const capture = engine.fallback_capture(frames);
  if (capture == nullptr) return;
  const auto report = test_capture(engine, *engine.fallback_device(), *capture, config, stop);
  if (!report.ok() || !report->passed) engine.lose_fallback();
}

}  // namespace

Result<OpenedEngine> open_engine(const DaemonConfig& config, ModelRole role,
                                 supervise::Spawner* spawner) {
  MODELD_ASSIGN(const TrustPolicy policy, trust_policy(config.artifact));
  MODELD_ASSIGN(const Artifact artifact, open_artifact(config, role, policy));
  OpenedEngine opened;
  opened.artifact = artifact_facts(artifact, config.artifact, policy);
  if (config.device.isolation == Isolation::kProcess) {
    if (spawner == nullptr) return Error(ErrorCode::kInternal, "no spawner for executors");
    MODELD_TRY(open_isolated(config, artifact, *spawner, opened));
  } else {
    MODELD_ASSIGN(auto device, open_backend(config.device.backend,
                                            backend_options(config, config.device.threads)));
    opened.engine = std::make_unique<Engine>(artifact.model(), std::move(device),
                                             capture_options(config, config.device.threads));
  }
  opened.device = device_facts(opened.engine->device().capabilities(), artifact.model().contract,
                               config.device.threads);
  return opened;
}

Result<supervise::ExecutorWork> open_executor_work(const DaemonConfig& config, ModelRole role,
                                                   supervise::ExecutorKind kind) {
  const bool fallback = kind == supervise::ExecutorKind::kFallback;
  MODELD_ASSIGN(const TrustPolicy policy, trust_policy(config.artifact));
  DaemonConfig own = config;
  if (fallback) own.device.backend = "cpu";  // the artifact must be for it, too
  MODELD_ASSIGN(const Artifact artifact, open_artifact(own, role, policy));
  const uint32_t threads = fallback ? fallback_threads(config) : config.device.threads;
  MODELD_ASSIGN(auto device, open_backend(own.device.backend, backend_options(own, threads)));
  return supervise::ExecutorWork{artifact.model(), std::move(device), to_hex(artifact.digest())};
}

Status prove_engine(Engine& engine, const DaemonConfig& config, const Clock& clock,
                    const std::function<bool()>& stop, SelfTestFacts& facts) {
  const Nanoseconds begin = clock.monotonic();
  MODELD_ASSIGN(const CaptureOptions recording, reference_capture_options(engine.contract()));
  MODELD_ASSIGN(Capture* const capture, engine.capture(recording.frames));
  const auto report = test_capture(engine, engine.device(), *capture, config, stop);
  facts.duration_ms = static_cast<double>(clock.monotonic() - begin) / kMillisecond;
  facts.finished = clock.boottime();
  if (!report.ok()) {
    facts.result = Check::kFailed;
    facts.text = to_string(report.error());
    engine.readiness().task_completed = Check::kFailed;
    return report.error();
  }
  engine.readiness().queue_ready = Check::kPassed;
  engine.readiness().task_completed = Check::kPassed;
  facts.result = report->passed ? Check::kPassed : Check::kFailed;
  facts.text = describe_failure(*report);
  facts.worst_error = worst_of(*report);
  engine.readiness().output_valid = facts.result;
  if (!report->passed) return Error(ErrorCode::kCheckFailed, facts.text).in("self-test");
  prove_fallback(engine, recording.frames, config, stop);
  return {};
}

}  // namespace modeld
