#include "daemon/engine/open_engine.h"

#include <algorithm>
#include <utility>

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

Result<OpenedEngine> open_engine(const DaemonConfig& config, ModelRole role) {
  MODELD_ASSIGN(const TrustPolicy policy, trust_policy(config.artifact));
  Requirements requirements;
  requirements.role = role;
  requirements.device_class = DeviceClass::kCpu;
  auto artifact = Artifact::open(config.artifact.path, policy, requirements);
  if (!artifact.ok()) {
    Error error = std::move(artifact).error();
    // Missing or unreadable: the configuration names a file that cannot be had.
    if (error.code != ErrorCode::kRefused) error.code = ErrorCode::kInvalidArgument;
    return error;
  }
  BackendOptions options;
  options.threads = config.device.threads;
  MODELD_ASSIGN(auto device, open_backend(config.device.backend, options));
  OpenedEngine opened;
  opened.artifact = artifact_facts(*artifact, config.artifact, policy);
  opened.device =
      device_facts(device->capabilities(), artifact->model().contract, config.device.threads);
  CaptureOptions capture;
  capture.threads = config.device.threads;
  capture.load_deadline = config.deadlines.load;
  opened.engine = std::make_unique<Engine>(artifact->model(), std::move(device), capture);
  return opened;
}

Status prove_engine(Engine& engine, const DaemonConfig& config, const Clock& clock,
                    const std::function<bool()>& stop, SelfTestFacts& facts) {
  const Nanoseconds begin = clock.monotonic();
  MODELD_ASSIGN(const CaptureOptions recording, reference_capture_options(engine.contract()));
  MODELD_ASSIGN(Capture* const capture, engine.capture(recording.frames));
  SelfTestOptions options;
  options.repeats = config.selftest.repeats;
  options.threads = config.device.threads;
  options.stop = stop;
  const auto report = run_self_test(*capture, engine.contract(),
                                    engine.device().capabilities().device_class, options);
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
  return {};
}

}  // namespace modeld
