// Executors of a running daemon that die or hang: what others hear, and what the daemon does.

#include "daemon/privileges/landlock.h"
#include "runtime/artifact/artifact_writer.h"
#include "runtime/artifact/signing.h"
#include "runtime/base/exit_codes.h"
#include "tests/daemon/process/served_daemon.h"
#include "tools/compile/compile.h"
#include "tools/feed/program_files.h"
#include "tools/samples/sample_network.h"

namespace modeld {
namespace {

constexpr const char* kIsolated = "[device]\nisolation = \"process\"\n";
constexpr const char* kPatientFrames = "[deadlines]\ninference_ms = 1000\n";

// Field fault 24: the executor dies; the fallback answers and says so.
TEST_F(ServedDaemon, FieldFault24KilledExecutorIsFollowedByTheFallback) {
  serve(std::string(kIsolated) + "[fallback]\nenabled = true\nwarm_hz = 5\n" + kPatientFrames);
  EXPECT_TRUE(listen_until([&] { return health().valid >= 10; })) << log_text();
  EXPECT_EQ(health().fallback, "warm");
  EXPECT_FLOAT_EQ(static_cast<float>(health().fallback_warm_hz), 5.0f);
  EXPECT_NE(health().fallback_artifact.find(health().artifact_digest), std::string::npos);
  EXPECT_GT(child_named(spawner(), "fallback"), 0);
  // Measured over seconds; the process does something, and not all the time.
  EXPECT_TRUE(listen_until([&] { return health().fallback_cpu_share > 0; })) << log_text();
  EXPECT_LT(health().fallback_cpu_share, 4.0);
  signal_executor(SIGKILL);
  const uint64_t before = health().valid;
  EXPECT_TRUE(listen_until([&] {
    return health().valid >= before + 20 && health().reason == "runningOnFallback";
  })) << log_text();
  EXPECT_NE(health().text.find("primary executor ended by itself"), std::string::npos)
      << health().text;
  EXPECT_EQ(health().fallback, "active");
  EXPECT_EQ(health().executor_restarts, 0u);
  const pid_t gone = spawner();
  expect_quick_end(*child_);
  // Nobody is left behind.
  EXPECT_NE(kill(gone, 0), 0);
}

// The fallback may run another file, which must offer the same: a network of a ninth of the size.
// Its history starts anew, and so do the drops it is told of; every frame has an answer.
TEST_F(ServedDaemon, FieldFault24SmallerNetworkTakesOver) {
  auto key = SigningKey::generate();
  ASSERT_TRUE(key.ok());
  const auto keys = folder_ / "keys";
  std::filesystem::create_directory(keys);
  ASSERT_TRUE(save_public_key(*key->public_key(), keys / "small.pub").ok());
  std::filesystem::copy_file(models_->trust, keys / "first.pub");
  const auto onnx = folder_ / "small.onnx";
  ASSERT_TRUE(samples::write_sample(samples::SampleKind::kDrivingSmall, onnx).ok());
  compile::CompileOptions options;
  options.pipeline = *find_pipeline("driving.toml");
  const auto small = compile::compile_onnx(onnx, options);
  ASSERT_TRUE(small.ok()) << to_string(small.error());
  const auto path = folder_ / "small.model";
  ASSERT_TRUE(write_artifact(path, small->model, &*key).ok());
  EXPECT_LT(std::filesystem::file_size(path), std::filesystem::file_size(models_->driving) / 5);

  serve_road(std::string(kIsolated) + "threads = 1\n[fallback]\nenabled = true\nartifact = \"" +
                 path.string() + "\"\nthreads = 1\n" + kPatientFrames,
             keys);
  EXPECT_TRUE(listen_until([&] { return road_health().valid >= 10; })) << log_text();
  const std::string first = road_health().artifact_digest;
  EXPECT_EQ(road_health().fallback, "warm");
  EXPECT_FLOAT_EQ(static_cast<float>(road_health().fallback_warm_hz), 1.0f);
  EXPECT_EQ(road_health().fallback_artifact.find(first), std::string::npos);
  EXPECT_TRUE(listen_until([&] { return road_health().fallback_cpu_share > 0; })) << log_text();
  std::printf("the small network kept warm at 1 Hz: %.2f %% of one processor\n",
              100 * road_health().fallback_cpu_share);
  EXPECT_LT(road_health().fallback_cpu_share, 0.5);
  EXPECT_TRUE(last_is_big());
  const std::string announced = road_health().fallback_artifact;

  signal_executor(SIGKILL);
  const uint64_t before = road_health().valid, invalid = answered_invalid(road_health());
  EXPECT_TRUE(listen_until([&] {
    return road_health().valid >= before + 60 && road_health().reason == "runningOnFallback";
  })) << log_text();
  EXPECT_NE(road_health().artifact_digest, first);
  EXPECT_NE(announced.find(road_health().artifact_digest), std::string::npos);
  EXPECT_FALSE(last_is_big());
  // The frame in hand when it died, or the one after.
  EXPECT_EQ(answered_invalid(road_health()) - invalid, 1u);
  expect_accounted(road_health());
  EXPECT_EQ(answers_->driving().not_finite, 0u);
  expect_quick_end(*child_);
}

TEST_F(ServedDaemon, FallbackModelOfAnotherRoleIsRefused) {
  auto child =
      start(DMONITORINGMODELD_PROGRAM, config(models_->monitoring, false, models_->trust) +
                                           kIsolated + "[fallback]\nenabled = true\nartifact = \"" +
                                           models_->driving.string() + "\"\n");
  EXPECT_EQ(exit_code_of(child), kExitRefused) << log_text();
  EXPECT_NE(log_text().find("fallback.artifact"), std::string::npos) << log_text();
}

// Without a fallback the executor is started again, a bounded number of times, and health says so.
TEST_F(ServedDaemon, FieldFault20KilledExecutorIsStartedAgainAndThenTheDaemonEnds) {
  serve(std::string(kIsolated) + "restarts = 1\n" + kPatientFrames);
  EXPECT_TRUE(listen_until([&] { return health().valid >= 5; })) << log_text();
  signal_executor(SIGKILL);
  EXPECT_TRUE(listen_until([&] { return health().reason == "restarting"; })) << log_text();
  EXPECT_NE(health().text.find("primary executor ended by itself"), std::string::npos)
      << health().text;
  const uint64_t before = health().valid;
  EXPECT_TRUE(listen_until([&] { return health().valid >= before + 5; })) << log_text();
  EXPECT_EQ(health().executor_restarts, 1u);
  EXPECT_TRUE(listen_until([&] { return health().state == "ok"; })) << log_text();
  // Every frame that was taken has an answer.
  EXPECT_EQ(health().received, health().published);
  signal_executor(SIGKILL);
  EXPECT_EQ(exit_code_of(*child_), kExitDevice) << log_text();
  EXPECT_NE(log_text().find("started again 1 times (device.restarts)"), std::string::npos)
      << log_text();
}

// One that fails again while it is started counts like any other, instead of ending the daemon.
TEST_F(ServedDaemon, FieldFault20ExecutorKilledWhileItIsStartedAgainIsStartedOnceMore) {
  serve(std::string(kIsolated) + "restarts = 3\npatience_ms = 0\n" + kPatientFrames);
  EXPECT_TRUE(listen_until([&] { return health().valid >= 5; })) << log_text();
  signal_executor(SIGKILL);
  EXPECT_TRUE(listen_until([&] { return health().reason == "restarting"; })) << log_text();
  EXPECT_TRUE(wait_for([&] { return executor() > 0; }));
  signal_executor(SIGKILL);
  EXPECT_TRUE(listen_until([&] { return health().executor_restarts == 2; })) << log_text();
  const uint64_t before = health().valid;
  EXPECT_TRUE(listen_until([&] { return health().valid >= before + 5; })) << log_text();
  expect_quick_end(*child_);
}

// Executors end with their spawner, and there is nobody to start others: a new daemon has to come,
// so this must not be an exit code after which none does.
TEST_F(ServedDaemon, FieldFault20KilledSpawnerEndsTheDaemonAsALostDevice) {
  serve(std::string(kIsolated) + "restarts = 3\npatience_ms = 0\n" + kPatientFrames);
  EXPECT_TRUE(listen_until([&] { return health().valid >= 5; })) << log_text();
  const pid_t pid = spawner();
  ASSERT_GT(pid, 0) << log_text();  // -1 would be everybody
  ASSERT_EQ(kill(pid, SIGKILL), 0);
  EXPECT_EQ(exit_code_of(*child_), kExitDevice) << log_text();
  EXPECT_NE(log_text().find("the spawner is gone"), std::string::npos) << log_text();
}

// The same for one that hangs: it is ended at its deadline.
TEST_F(ServedDaemon, FieldFault21StoppedExecutorIsStartedAgainAndThenTheDaemonEnds) {
  serve(std::string(kIsolated) + "restarts = 1\n" + kPatientFrames);
  EXPECT_TRUE(listen_until([&] { return health().valid >= 5; })) << log_text();
  signal_executor(SIGSTOP);
  EXPECT_TRUE(listen_until([&] { return health().executor_restarts == 1; })) << log_text();
  const uint64_t before = health().valid;
  EXPECT_TRUE(listen_until([&] { return health().valid >= before + 5; })) << log_text();
  signal_executor(SIGSTOP);
  EXPECT_EQ(exit_code_of(*child_), kExitDeadline) << log_text();
}

// Generated code, a compiler and a linker behind an OpenCL driver, under the sandbox as it ships.
TEST_F(ServedDaemon, FieldFault40OpenclAnswersWhereNothingMayBeExecutedAfterwards) {
  serve(
      "[device]\nbackend = \"opencl\"\nsoftware = true\nisolation = \"process\"\n"
      "[deadlines]\ninference_ms = 5000\n[state]\ndir = \"" +
      (folder_ / "other").string() + "\"\n");
  const auto missing = [&] {
    return log_text().find("no OpenCL device") != std::string::npos ||
           log_text().find("no OpenCL platform") != std::string::npos;
  };
  EXPECT_TRUE(listen_until([&] { return health().valid >= 3 || missing(); })) << log_text();
  if (missing()) GTEST_SKIP() << "this machine has no OpenCL device";
  if (landlock_abi() != 0) {
    EXPECT_NE(log_text().find("sandbox complete"), std::string::npos) << log_text();
  }
  expect_quick_end(*child_);
}

TEST_F(ServedDaemon, IncompleteSandboxIsAReason) {
  std::string text = "[sandbox]\nmode = \"off\"\n";
  std::string base = config(models_->monitoring, false, models_->trust);
  base.resize(base.find("[sandbox]"));
  serve("");
  EXPECT_TRUE(listen_until([&] { return health().state == "ok"; })) << log_text();
  expect_quick_end(*child_);
  child_.emplace(start(DMONITORINGMODELD_PROGRAM, base + text));
  EXPECT_TRUE(listen_until([&] { return health().reason == "sandboxIncomplete"; })) << log_text();
  EXPECT_EQ(health().text, "switched off by configuration");
  EXPECT_EQ(health().state, "degraded");
  expect_quick_end(*child_);
}

}  // namespace
}  // namespace modeld
