// The daemons as processes: how they refuse, wait, answer and end.
#include "tests/daemon/process/daemon_process.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "daemon/privileges/landlock.h"
#include "ipc/msgq/msgq_transport.h"
#include "ipc/transport/zmq_transport.h"
#include "runtime/artifact/signing.h"
#include "runtime/base/exit_codes.h"
#include "runtime/base/sanitized.h"
#include "tools/demo/answer_log.h"
#include "tools/feed/scene_feed.h"
#include "tools/images/draw.h"

namespace modeld {

TEST_F(DaemonProcess, ConfigurationErrorIsTwoAndNamesTheLine) {
  auto child = start(MODELD_PROGRAM, "[device]\nthreds = 2\n");
  EXPECT_EQ(exit_code_of(child), kExitUsage);
  EXPECT_NE(log_text().find("daemon.toml:2: unknown key device.threds"), std::string::npos)
      << log_text();
}

TEST_F(DaemonProcess, MissingArtifactIsTwo) {
  auto child = start(MODELD_PROGRAM, config(folder_ / "none.model", true, models_->trust));
  EXPECT_EQ(exit_code_of(child), kExitUsage) << log_text();
}

TEST_F(DaemonProcess, FieldFault23ArtifactOfTheOtherRoleIsThree) {
  auto child = start(DMONITORINGMODELD_PROGRAM, config(models_->driving, false, models_->trust));
  EXPECT_EQ(exit_code_of(child), kExitRefused) << log_text();
  EXPECT_NE(log_text().find("monitoring"), std::string::npos) << log_text();
  EXPECT_NE(log_text().find("driving"), std::string::npos) << log_text();
  // Before anything of a device.
  EXPECT_NE(log_text().find("role of the model"), std::string::npos) << log_text();
  EXPECT_EQ(log_text().find("backend="), std::string::npos) << log_text();
  EXPECT_EQ(log_text().find("self-test"), std::string::npos) << log_text();
}

TEST_F(DaemonProcess, UntrustedSignatureIsThree) {
  auto key = SigningKey::generate();
  ASSERT_TRUE(key.ok());
  const auto trust = folder_ / "other" / "other.pub";
  ASSERT_TRUE(save_public_key(*key->public_key(), trust).ok());
  auto child = start(MODELD_PROGRAM, config(models_->driving, true, trust));
  EXPECT_EQ(exit_code_of(child), kExitRefused) << log_text();
}

TEST_F(DaemonProcess, AlteredArtifactIsThree) {
  const auto altered = folder_ / "altered.model";
  std::filesystem::copy_file(models_->monitoring, altered);
  const auto size = std::filesystem::file_size(altered);
  std::fstream file(altered, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(size / 2));
  const char byte = static_cast<char>(file.get() ^ 1);
  file.seekp(static_cast<std::streamoff>(size / 2));
  file.put(byte);
  file.close();
  auto child = start(DMONITORINGMODELD_PROGRAM, config(altered, false, models_->trust));
  EXPECT_EQ(exit_code_of(child), kExitRefused) << log_text();
}

TEST_F(DaemonProcess, SigtermWhileLoadingEndsInTime) {
  auto child = start_driving();
  ASSERT_TRUE(wait_for_log("recording and self-test")) << log_text();
  expect_quick_end(child);
}

TEST_F(DaemonProcess, FieldFault39ReadyOnlyAfterTheSelfTestAndStoppedWhileWaiting) {
  NotifySocket manager(folder_ / "notify");
  setenv("NOTIFY_SOCKET", (folder_ / "notify").c_str(), 1);
  auto child = start_driving();
  ASSERT_TRUE(wait_for_log("waiting for CarParams")) << log_text();
  const auto messages = manager.received();
  const auto position = [&](const std::string& text) {
    return std::find(messages.begin(), messages.end(), text) - messages.begin();
  };
  ASSERT_LT(position("READY=1"), static_cast<ptrdiff_t>(messages.size()));
  EXPECT_LT(position("STATUS=opening the artifact"), position("STATUS=recording and self-test"));
  EXPECT_LT(position("STATUS=recording and self-test"), position("READY=1"));
  // Loading asks for more time than the daemon gives itself (deadlines.load_ms, 60 s).
  EXPECT_LT(position("EXTEND_TIMEOUT_USEC=65000000"), position("READY=1"));
  EXPECT_NE(log_text().find("memory locked"), std::string::npos) << log_text();
  expect_quick_end(child);
  EXPECT_EQ(manager.received().back(), "STOPPING=1");
}

// Field fault 18: threads that wait do not spin, neither the daemon's nor an executor's.
class WaitingDaemon : public DaemonProcess, public testing::WithParamInterface<const char*> {
 protected:
  // Of the daemon and all that it started, user and system.
  static long ticks(pid_t process) {
    const std::string id = std::to_string(process);
    // utime and stime are fields 14 and 15; the name in brackets has no blanks.
    std::ifstream file("/proc/" + id + "/stat");
    std::string word;
    long sum = 0;
    for (int field = 1; field <= 15 && file >> word; ++field) {
      if (field >= 14) sum += std::stol(word);
    }
    std::ifstream children("/proc/" + id + "/task/" + id + "/children");
    for (pid_t child; children >> child;) sum += ticks(child);
    return sum;
  }
};

TEST_P(WaitingDaemon, FieldFault18WaitingCostsAlmostNothing) {
  auto child = start(DMONITORINGMODELD_PROGRAM, config(models_->monitoring, false, models_->trust) +
                                                    "[device]\nthreads = 2\nisolation = \"" +
                                                    GetParam() + "\"\n");
  ASSERT_TRUE(wait_for_log("state=waitingForFrames")) << log_text();
  usleep(500'000);
  const long before = ticks(child.pid());
  usleep(2'000'000);
  const double share = static_cast<double>(ticks(child.pid()) - before) /
                       static_cast<double>(sysconf(_SC_CLK_TCK)) / 2;
  EXPECT_LT(share, 0.05);  // of one core
  expect_quick_end(child);
}

INSTANTIATE_TEST_SUITE_P(Isolation, WaitingDaemon, testing::Values("inline", "process"),
                         [](const auto& one) { return std::string(one.param); });

// The daemon as it ships: both stages of the sandbox, and its own audit of them.
TEST_F(DaemonProcess, FieldFault40ConfinesItselfAndFindsEverythingRefused) {
  if (kSanitized) GTEST_SKIP() << "sanitizers cannot live confined; the plain build tests this";
  if (landlock_abi() == 0) GTEST_SKIP() << "this kernel has no Landlock";
  auto child = start_monitoring();
  ASSERT_TRUE(wait_for_log("state=waitingForFrames")) << log_text();
  EXPECT_NE(log_text().find("sandbox complete"), std::string::npos) << log_text();
  std::ifstream status("/proc/" + std::to_string(child.pid()) + "/status");
  const std::string text{std::istreambuf_iterator<char>(status), {}};
  EXPECT_NE(text.find("NoNewPrivs:\t1"), std::string::npos) << text;
  EXPECT_NE(text.find("Seccomp:\t2"), std::string::npos) << text;
  expect_quick_end(child);
}

// Field fault 6 e: the camera server goes and another one comes.
void DaemonProcess::expect_answers_from_two_servers(ipc::Transport& transport,
                                                    const std::string& prefix,
                                                    const std::string& text) {
  auto log = AnswerLog::create(real(), transport);
  ASSERT_TRUE(log.ok());
  auto child = start(DMONITORINGMODELD_PROGRAM, text);
  SceneOptions scene;
  scene.socket_dir = folder_ / "cameras";
  scene.prefix = prefix;
  const auto play_until = [&](uint64_t valid) {
    auto feed = SceneFeed::create(real(), transport, scene, *draw_road_scene(482, 302),
                                  *draw_cabin_scene(482, 302));
    ASSERT_TRUE(feed.ok()) << to_string(feed.error());
    std::atomic<bool> stop{false};
    std::thread thread([&] { EXPECT_TRUE((*feed)->run([&] { return stop.load(); }).ok()); });
    const bool reached = wait_for([&] {
      EXPECT_TRUE((*log)->listen(Deadline::after(real(), 50 * kMillisecond)).ok());
      return (*log)->monitoring().health.valid >= valid;
    });
    stop = true;
    thread.join();
    EXPECT_TRUE(reached) << log_text();
  };
  play_until(10);
  const uint64_t before = (*log)->monitoring().health.valid;
  play_until(before + 10);
  EXPECT_EQ((*log)->monitoring().not_finite, 0u);
  expect_quick_end(child);
}

TEST_F(DaemonProcess, FieldFault6AnswersAgainAfterTheCameraServerRestarted) {
  ipc::ZmqOptions zmq;
  zmq.ipc_dir = folder_ / "ipc";
  auto transport = ipc::ZmqTransport::create(real(), zmq);
  ASSERT_TRUE(transport.ok()) << to_string(transport.error());
  expect_answers_from_two_servers(**transport, "",
                                  config(models_->monitoring, false, models_->trust));
}

// The same over shared-memory rings, which a confined daemon must have made beforehand.
TEST_F(DaemonProcess, AnswersOverMsgqRings) {
  const std::string prefix = "modeld-test-" + std::to_string(::getpid());
  const std::filesystem::path rings = "/dev/shm/msgq_" + prefix;
  std::filesystem::create_directory(rings);
  setenv("OPENPILOT_PREFIX", prefix.c_str(), 1);
  ipc::MsgqOptions msgq;
  msgq.prefix = prefix;
  auto transport = ipc::MsgqTransport::create(real(), msgq);
  ASSERT_TRUE(transport.ok()) << to_string(transport.error());
  std::string text = config(models_->monitoring, false, models_->trust);
  text.replace(text.find("[transport]\n"), 12, "[transport]\nkind = \"msgq\"\n");
  expect_answers_from_two_servers(**transport, prefix, text);
  EXPECT_TRUE(std::filesystem::exists(rings / "driverStateV2"));
  unsetenv("OPENPILOT_PREFIX");
  std::filesystem::remove_all(rings);
}

}  // namespace modeld
