// A daemon as a process, with models, cameras and a service manager around it.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "ipc/transport/transport.h"
#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/base/unique_fd.h"
#include "tests/support/temp_dir.h"
#include "tools/demo/child_process.h"
#include "tools/demo/demo_models.h"

namespace modeld {

constexpr Nanoseconds kPatience =
    60 * kSecond;  // for a loaded machine; nothing here waits that long
constexpr Nanoseconds kStopPromise = 500 * kMillisecond;

inline const Clock& real() {
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
    models_ = nullptr;
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
inline test::TempDir* DaemonProcess::model_folder_ = nullptr;
inline DemoModels* DaemonProcess::models_ = nullptr;

// The process named `name` among those that `parent` started.
inline pid_t child_named(pid_t parent, const std::string& name) {
  const std::string id = std::to_string(parent);
  std::ifstream children("/proc/" + id + "/task/" + id + "/children");
  for (pid_t child; children >> child;) {
    std::ifstream file("/proc/" + std::to_string(child) + "/comm");
    std::string comm;
    if (std::getline(file, comm) && comm == name) return child;
  }
  return -1;
}

}  // namespace modeld
