// The daemons as processes: how they refuse, wait, answer and end.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <thread>

#include "daemon/privileges/landlock.h"
#include "ipc/msgq/msgq_transport.h"
#include "ipc/transport/zmq_transport.h"
#include "runtime/artifact/signing.h"
#include "runtime/base/exit_codes.h"
#include "runtime/base/file.h"
#include "tests/support/temp_dir.h"
#include "tools/demo/answer_log.h"
#include "tools/demo/child_process.h"
#include "tools/demo/demo_models.h"
#include "tools/feed/scene_feed.h"
#include "tools/images/draw.h"

namespace modeld {
namespace {

constexpr Nanoseconds kPatience =
    60 * kSecond;  // for a loaded machine; nothing here waits that long
constexpr Nanoseconds kStopPromise = 500 * kMillisecond;

const Clock& real() {
  return Clock::real();
}

// Plays the service manager.
class NotifySocket {
 public:
  explicit NotifySocket(const std::filesystem::path& path)
      : fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  std::vector<std::string> received() {
    char text[512];
    for (ssize_t n; (n = recv(fd_.get(), text, sizeof text, 0)) > 0;) {
      all_.emplace_back(text, static_cast<size_t>(n));
    }
    return all_;
  }

 private:
  UniqueFd fd_;
  std::vector<std::string> all_;
};

class DaemonProcess : public testing::Test {
 protected:
  // Making the models takes seconds: once for all tests.
  static void SetUpTestSuite() {
    model_folder_ = new test::TempDir;
    auto made = make_demo_models(
        model_folder_->path(), [](std::string_view) {}, [] { return false; });
    ASSERT_TRUE(made.ok()) << to_string(made.error());
    models_ = new DemoModels(std::move(made).value());
  }
  static void TearDownTestSuite() {
    delete models_;
    delete model_folder_;
  }
  void SetUp() override {
    ASSERT_NE(models_, nullptr);
    for (const char* name : {"ipc", "cameras", "params", "other"}) {
      std::filesystem::create_directory(folder_ / name);
    }
  }
  void TearDown() override { unsetenv("NOTIFY_SOCKET"); }

  std::string config(const std::filesystem::path& artifact, bool driving,
                     const std::filesystem::path& trust) {
    std::string text = "[artifact]\npath = \"" + artifact.string() + "\"\ntrust = \"" +
                       trust.string() + "\"\n[camera]\nsocket_dir = \"" +
                       (folder_ / "cameras").string() + "\"\n[transport]\nipc_dir = \"" +
                       (folder_ / "ipc").string() +
                       "\"\n[selftest]\nrepeats = 1\n[sandbox]\nmode = \"best-effort\"\n";
    if (driving) text += "[inputs]\nparams_dir = \"" + (folder_ / "params").string() + "\"\n";
    return text;
  }
  ChildProcess start(const char* program, const std::string& text) {
    const auto file = folder_ / "daemon.toml";
    EXPECT_TRUE(write_file_atomically(file, std::as_bytes(std::span(text))).ok());
    auto child = ChildProcess::start(program, {"--config", file.string()}, log());
    EXPECT_TRUE(child.ok());
    return std::move(child).value();
  }
  ChildProcess start_driving() {
    return start(MODELD_PROGRAM, config(models_->driving, true, models_->trust));
  }
  ChildProcess start_monitoring() {
    return start(DMONITORINGMODELD_PROGRAM, config(models_->monitoring, false, models_->trust));
  }
  std::filesystem::path log() const { return folder_ / "daemon.log"; }
  std::string log_text() const {
    const auto text = read_text_file(log(), 1 << 20);
    return text.ok() ? *text : "";
  }

  bool wait_for(const std::function<bool()>& condition) {
    const Deadline deadline = Deadline::after(real(), kPatience);
    while (!condition()) {
      if (deadline.passed(real())) return false;
      usleep(5000);
    }
    return true;
  }
  bool wait_for_log(const std::string& words) {
    return wait_for([&] { return log_text().find(words) != std::string::npos; });
  }
  int exit_code_of(ChildProcess& child) {
    EXPECT_TRUE(wait_for([&] { return child.poll().has_value(); })) << log_text();
    const auto end = child.poll();
    return end && !end->by_signal ? end->number : -1;
  }
  void expect_quick_end(ChildProcess& child) {
    Nanoseconds took = 0;
    const ProcessEnd end = child.terminate(real(), 10 * kSecond, took);
    EXPECT_EQ(end.text(), "exit code 0") << log_text();
    EXPECT_LE(took, kStopPromise);
  }

  void expect_answers_from_two_servers(ipc::Transport& transport, const std::string& prefix,
                                       const std::string& text);

  static test::TempDir* model_folder_;
  static DemoModels* models_;
  test::TempDir folder_;
};
test::TempDir* DaemonProcess::model_folder_ = nullptr;
DemoModels* DaemonProcess::models_ = nullptr;

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
  expect_quick_end(child);
  EXPECT_EQ(manager.received().back(), "STOPPING=1");
}

// Field fault 18: threads that wait do not spin.
TEST_F(DaemonProcess, FieldFault18WaitingCostsAlmostNothing) {
  auto child = start_monitoring();
  ASSERT_TRUE(wait_for_log("state=waitingForFrames")) << log_text();
  const auto cpu_ticks = [&] {
    // utime and stime are fields 14 and 15; the name in brackets has no blanks.
    std::ifstream file("/proc/" + std::to_string(child.pid()) + "/stat");
    std::string word;
    long ticks = 0;
    for (int field = 1; field <= 15 && file >> word; ++field) {
      if (field >= 14) ticks += std::stol(word);
    }
    return ticks;
  };
  usleep(500'000);
  const long before = cpu_ticks();
  usleep(2'000'000);
  const double share =
      static_cast<double>(cpu_ticks() - before) / static_cast<double>(sysconf(_SC_CLK_TCK)) / 2;
  EXPECT_LT(share, 0.05);  // of one core
  expect_quick_end(child);
}

// The daemon as it ships: both stages of the sandbox, and its own audit of them.
TEST_F(DaemonProcess, ConfinesItselfAndFindsEverythingRefused) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer build does not confine itself; the plain build tests this";
#endif
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

// The process named `name` among those that `parent` started.
pid_t child_named(pid_t parent, const std::string& name) {
  const std::string id = std::to_string(parent);
  std::ifstream children("/proc/" + id + "/task/" + id + "/children");
  for (pid_t child; children >> child;) {
    std::ifstream file("/proc/" + std::to_string(child) + "/comm");
    std::string comm;
    if (std::getline(file, comm) && comm == name) return child;
  }
  return -1;
}

// Field fault 24: the executor dies; the fallback answers and says so.
TEST_F(DaemonProcess, FieldFault24KilledExecutorIsFollowedByTheFallback) {
  ipc::ZmqOptions zmq;
  zmq.ipc_dir = folder_ / "ipc";
  auto transport = ipc::ZmqTransport::create(real(), zmq);
  ASSERT_TRUE(transport.ok()) << to_string(transport.error());
  auto log = AnswerLog::create(real(), **transport);
  ASSERT_TRUE(log.ok());
  auto child = start(DMONITORINGMODELD_PROGRAM,
                     config(models_->monitoring, false, models_->trust) +
                         "[device]\nisolation = \"process\"\n[fallback]\nenabled = true\n"
                         "[deadlines]\ninference_ms = 1000\n");
  SceneOptions scene;
  scene.socket_dir = folder_ / "cameras";
  auto feed = SceneFeed::create(real(), **transport, scene, *draw_road_scene(482, 302),
                                *draw_cabin_scene(482, 302));
  ASSERT_TRUE(feed.ok()) << to_string(feed.error());
  std::atomic<bool> stop{false};
  std::thread thread([&] { EXPECT_TRUE((*feed)->run([&] { return stop.load(); }).ok()); });
  const HeardHealth& health = (*log)->monitoring().health;
  const auto listen_until = [&](const std::function<bool()>& condition) {
    return wait_for([&] {
      EXPECT_TRUE((*log)->listen(Deadline::after(real(), 50 * kMillisecond)).ok());
      return condition();
    });
  };
  EXPECT_TRUE(listen_until([&] { return health.valid >= 10; })) << log_text();
  const pid_t spawner = child_named(child.pid(), "spawner");
  const pid_t executor = child_named(spawner, "executor");
  EXPECT_GT(child_named(spawner, "fallback"), 0);
  EXPECT_GT(executor, 0);
  if (executor > 0) {
    EXPECT_EQ(kill(executor, SIGKILL), 0);
  }
  const uint64_t before = health.valid;
  EXPECT_TRUE(listen_until([&] {
    return health.valid >= before + 20 && health.reason == "runningOnFallback";
  })) << log_text();
  EXPECT_NE(health.text.find("primary executor ended by itself"), std::string::npos) << health.text;
  stop = true;
  thread.join();
  expect_quick_end(child);
  // Nobody is left behind.
  EXPECT_NE(kill(spawner, 0), 0);
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

}  // namespace
}  // namespace modeld
