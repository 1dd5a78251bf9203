#include "daemon/engine/open_engine.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "daemon/health/flight_writer.h"
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
    policy.keys = std::move(keys->keys);
    policy.revoked = std::move(keys->revoked);
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

// Tells that loading goes on. Reads of other threads than the opener's tell nothing.
class NotedWeights final : public WeightSource {
 public:
  NotedWeights(std::shared_ptr<WeightSource> inner, std::function<void()> note)
      : inner_(std::move(inner)), note_(std::move(note)), owner_(std::this_thread::get_id()) {}
  uint64_t size() const override { return inner_->size(); }
  Status read(uint64_t offset, std::span<std::byte> out) override {
    if (std::this_thread::get_id() == owner_) note_();
    return inner_->read(offset, out);
  }

 private:
  const std::shared_ptr<WeightSource> inner_;
  const std::function<void()> note_;
  const std::thread::id owner_;
};

// What an executor of this kind works with, as if it were the only one.
DaemonConfig config_of(const DaemonConfig& config, supervise::ExecutorKind kind) {
  DaemonConfig own = config;
  if (kind != supervise::ExecutorKind::kFallback) return own;
  own.device.backend = "cpu";  // the artifact must be for it, too
  if (config.fallback.threads != 0) own.device.threads = config.fallback.threads;
  if (!config.fallback.artifact.empty()) own.artifact.path = config.fallback.artifact;
  return own;
}

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

Result<std::unique_ptr<supervise::ExecutorDevice>> open_executor(const DaemonConfig& config,
                                                                 supervise::ExecutorKind kind,
                                                                 const std::string& digest,
                                                                 const EngineSurroundings& around) {
  supervise::ExecutorDevice::Options options;
  options.kind = kind;
  options.deadlines.load = config.deadlines.load;
  options.deadlines.answer = config.deadlines.inference;
  options.mirror_states = config.fallback.enabled && kind == supervise::ExecutorKind::kPrimary;
  options.digest = digest;
  options.on_progress = around.on_progress;
  return supervise::ExecutorDevice::open(*around.spawner, options);
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
  if (const auto state = state_folder(config.state.dir)) options.kernel_folder = *state / "kernels";
  return options;
}

// The fallback with its own artifact or the device's.
struct OpenedFallback {
  std::unique_ptr<supervise::ExecutorDevice> device;
  std::optional<Model> model;
  ArtifactFacts facts;
};

Result<OpenedFallback> open_fallback(const DaemonConfig& config, ModelRole role,
                                     const Artifact& artifact, const ArtifactFacts& facts,
                                     const TrustPolicy& policy, const EngineSurroundings& around) {
  const DaemonConfig own = config_of(config, supervise::ExecutorKind::kFallback);
  OpenedFallback fallback;
  fallback.facts = facts;
  if (!config.fallback.artifact.empty()) {
    auto opened = open_artifact(own, role, policy);
    if (!opened.ok()) return std::move(opened).error().in("fallback.artifact");
    const Status fits = check_replacement(artifact.model().contract, opened->model().contract);
    if (!fits.ok()) return Error(fits.error()).in("fallback.artifact");
    fallback.model = opened->model();
    fallback.facts = artifact_facts(*opened, own.artifact, policy);
  }
  MODELD_ASSIGN(fallback.device, open_executor(config, supervise::ExecutorKind::kFallback,
                                               fallback.facts.digest, around));
  return fallback;
}

// Wrong however often it is tried, unlike a device that fails.
bool is_configuration(const Error& error) {
  return error.code == ErrorCode::kRefused || error.code == ErrorCode::kInvalidArgument;
}

Status open_isolated(const DaemonConfig& config, ModelRole role, const Artifact& artifact,
                     const TrustPolicy& policy, const EngineSurroundings& around,
                     OpenedEngine& opened) {
  auto device =
      open_executor(config, supervise::ExecutorKind::kPrimary, opened.artifact.digest, around);
  if (device.ok()) {
    opened.engine = std::make_unique<Engine>(artifact.model(), std::move(device).value(),
                                             capture_options(config, config.device.threads));
    opened.engine->set_restartable(config.device.restarts > 0);
  }
  if (!config.fallback.enabled) return device.ok() ? Status() : std::move(device).error();

  auto fallback = open_fallback(config, role, artifact, opened.artifact, policy, around);
  if (!fallback.ok() && is_configuration(fallback.error())) return std::move(fallback).error();
  // Nobody is left, or one who is enough.
  if (!fallback.ok()) return device.ok() ? Status() : std::move(device).error();
  const DaemonConfig own = config_of(config, supervise::ExecutorKind::kFallback);
  const CaptureOptions options = capture_options(config, own.device.threads);
  const Model& model = fallback->model ? *fallback->model : artifact.model();
  opened.fallback_artifact = fallback->facts;
  opened.fallback_device =
      device_facts(fallback->device->capabilities(), model.contract, own.device.threads);
  if (opened.engine != nullptr) {
    opened.fallback_processor_time = fallback->device->processor_time();
    opened.engine->set_fallback(std::move(fallback->device), options, std::move(fallback->model));
    return {};
  }
  opened.primary_failure = device.error();
  opened.artifact = *opened.fallback_artifact;
  opened.engine = std::make_unique<Engine>(model, std::move(fallback->device), options);
  opened.engine->start_on_fallback();
  return {};
}

Result<SelfTestReport> test_capture(const Contract& contract, Device& device, Capture& capture,
                                    const DaemonConfig& config, const std::function<bool()>& stop) {
  SelfTestOptions options;
  options.repeats = config.selftest.repeats;
  options.threads = config.device.threads;
  options.replay_deadline = std::min(options.replay_deadline, config.deadlines.load);
  options.stop = stop;
  auto report = run_self_test(capture, contract, device.capabilities().device_class, options);
  if (!report.ok() && report.error().code == ErrorCode::kDeadline) device.abandon();
  return report;
}

void prove_fallback(Engine& engine, std::span<const FrameBinding> frames,
                    const DaemonConfig& config, const std::function<bool()>& stop) {
  Capture* const capture = engine.fallback_capture(frames);
  if (capture == nullptr) return;
  const auto report = test_capture(engine.fallback_model().contract, *engine.fallback_device(),
                                   *capture, config, stop);
  if (!report.ok() || !report->passed) engine.lose_fallback();
}

}  // namespace

Result<OpenedEngine> open_engine(const DaemonConfig& config, ModelRole role,
                                 const EngineSurroundings& around) {
  MODELD_ASSIGN(const TrustPolicy policy, trust_policy(config.artifact));
  MODELD_ASSIGN(const Artifact artifact, open_artifact(config, role, policy));
  OpenedEngine opened;
  opened.artifact = artifact_facts(artifact, config.artifact, policy);
  if (config.device.isolation == Isolation::kProcess) {
    if (around.spawner == nullptr) return Error(ErrorCode::kInternal, "no spawner for executors");
    MODELD_TRY(open_isolated(config, role, artifact, policy, around, opened));
  } else {
    MODELD_ASSIGN(auto device, open_backend(config.device.backend,
                                            backend_options(config, config.device.threads)));
    Model model = artifact.model();
    if (around.on_progress) {
      model.weights = std::make_shared<NotedWeights>(model.weights, around.on_progress);
    }
    opened.engine = std::make_unique<Engine>(std::move(model), std::move(device),
                                             capture_options(config, config.device.threads));
  }
  opened.device = device_facts(opened.engine->device().capabilities(), opened.engine->contract(),
                               opened.engine->threads());
  return opened;
}

Status restart_executor(Engine& engine, const DaemonConfig& config, const std::string& digest,
                        const EngineSurroundings& around) {
  // Its device must be free for the next.
  static_cast<void>(engine.device().abandon());
  auto device = open_executor(config, supervise::ExecutorKind::kPrimary, digest, around);
  if (!device.ok()) {
    Error error = std::move(device).error();
    // Installed meanwhile: right for the next start of the daemon, not for this one.
    if (error.code == ErrorCode::kRefused) error.code = ErrorCode::kDeviceLost;
    return error;
  }
  engine.replace_device(std::move(device).value());
  return {};
}

Result<supervise::ExecutorWork> open_executor_work(const DaemonConfig& config, ModelRole role,
                                                   supervise::ExecutorKind kind) {
  MODELD_ASSIGN(const TrustPolicy policy, trust_policy(config.artifact));
  const DaemonConfig own = config_of(config, kind);
  MODELD_ASSIGN(const Artifact artifact, open_artifact(own, role, policy));
  MODELD_ASSIGN(auto device,
                open_backend(own.device.backend, backend_options(own, own.device.threads)));
  return supervise::ExecutorWork{artifact.model(), std::move(device), to_hex(artifact.digest())};
}

Status prove_engine(Engine& engine, const DaemonConfig& config, const Clock& clock,
                    const std::function<bool()>& stop, SelfTestFacts& facts) {
  const Nanoseconds begin = clock.monotonic();
  MODELD_ASSIGN(const CaptureOptions recording, reference_capture_options(engine.contract()));
  MODELD_ASSIGN(Capture* const capture, engine.capture(recording.frames));
  const auto report = test_capture(engine.contract(), engine.device(), *capture, config, stop);
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
