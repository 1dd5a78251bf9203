#include "daemon/privileges/system_call_filter.h"

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "ipc/transport/zmq_transport.h"
#include "tests/daemon/privileges/confined.h"
#include "tests/support/temp_dir.h"

namespace modeld {
namespace {

using test::in_child;

std::string answer_of(long result) {
  return result >= 0 ? "ok" : std::strerror(errno);
}

std::string after_start_up(const SystemCallPolicy& policy,
                           const std::function<std::string()>& body) {
  return in_child([&] {
    const Status status = filter_start_up_calls(policy);
    return status.ok() ? body() : to_string(status.error());
  });
}

std::string after_both(const std::function<std::string()>& body) {
  return after_start_up({}, [&] {
    const Status status = filter_running_calls();
    return status.ok() ? body() : to_string(status.error());
  });
}

std::string socket_of(int family, SystemCallPolicy policy = {}) {
  return after_start_up(policy, [&] { return answer_of(socket(family, SOCK_DGRAM, 0)); });
}

TEST(SystemCallFilterTest, OnlyUnixSocketsCanBeMade) {
  EXPECT_EQ(socket_of(AF_UNIX), "ok");
  EXPECT_EQ(socket_of(AF_CAN), std::strerror(EAFNOSUPPORT));
  EXPECT_EQ(socket_of(AF_PACKET), std::strerror(EAFNOSUPPORT));
  EXPECT_EQ(socket_of(AF_VSOCK), std::strerror(EAFNOSUPPORT));
  EXPECT_EQ(socket_of(AF_INET), std::strerror(EAFNOSUPPORT));
  EXPECT_EQ(socket_of(AF_INET6), std::strerror(EAFNOSUPPORT));
}

TEST(SystemCallFilterTest, NetlinkAnswersWhatLibzmqBears) {
  EXPECT_EQ(socket_of(AF_NETLINK), std::strerror(EOPNOTSUPP));
  EXPECT_EQ(socket_of(AF_NETLINK, {.internet = true}), std::strerror(EOPNOTSUPP));
}

TEST(SystemCallFilterTest, InternetSocketsByPolicyAndNothingMore) {
  EXPECT_EQ(socket_of(AF_INET, {.internet = true}), "ok");
  EXPECT_EQ(socket_of(AF_CAN, {.internet = true}), std::strerror(EAFNOSUPPORT));
  EXPECT_EQ(socket_of(AF_IPX, {.internet = true}), std::strerror(EAFNOSUPPORT));
}

// The kernel reads the family as 32 bits, a filter sees 64.
TEST(SystemCallFilterTest, HighBitsDoNotHideAFamily) {
  constexpr long kHigh = 1L << 32;
  EXPECT_EQ(after_start_up(
                {}, [] { return answer_of(syscall(SYS_socket, kHigh | AF_CAN, SOCK_RAW, 1)); }),
            std::strerror(EAFNOSUPPORT));
  EXPECT_EQ(after_start_up(
                {}, [] { return answer_of(syscall(SYS_socket, kHigh | AF_INET, SOCK_DGRAM, 0)); }),
            std::strerror(EAFNOSUPPORT));
}

TEST(SystemCallFilterTest, CallsNobodyHereNeedsAreRefused) {
  const auto call = [](long number) {
    return after_start_up({}, [number] { return answer_of(syscall(number, 0, 0, 0, 0, 0)); });
  };
  for (const long number : {SYS_ptrace, SYS_bpf, SYS_mount, SYS_unshare, SYS_io_uring_setup,
                            SYS_userfaultfd, SYS_finit_module, SYS_kexec_load, SYS_mknodat,
                            SYS_open_by_handle_at, SYS_process_vm_writev, SYS_clock_settime}) {
    EXPECT_EQ(call(number), std::strerror(EPERM)) << "system call " << number;
  }
}

TEST(SystemCallFilterTest, StartUpMayStillStartProcesses) {
  EXPECT_EQ(after_start_up({},
                           []() -> std::string {
                             const pid_t child = fork();
                             if (child < 0) return std::strerror(errno);
                             if (child == 0) _exit(0);
                             return answer_of(waitpid(child, nullptr, 0));
                           }),
            "ok");
}

TEST(SystemCallFilterTest, RunningStartsThreadsButNoProcessesAndNoPrograms) {
  EXPECT_EQ(after_both([] { return answer_of(fork()); }), std::strerror(EPERM));
  EXPECT_EQ(after_both([]() -> std::string {
              char name[] = "sh";
              char* const arguments[] = {name, nullptr};
              char* const environment[] = {nullptr};
              execve("/bin/sh", arguments, environment);
              return std::strerror(errno);
            }),
            std::strerror(EPERM));
  EXPECT_EQ(after_both([]() -> std::string {
              std::string answer;
              std::thread([&] { answer = "from a thread"; }).join();
              return answer;
            }),
            "from a thread");
}

// Threads that stood before the filter are under it as well.
TEST(SystemCallFilterTest, HoldsForThreadsThatWereThereBefore) {
  EXPECT_EQ(in_child([]() -> std::string {
              std::atomic<bool> filtered{false};
              std::string answer;
              std::thread early([&] {
                while (!filtered) std::this_thread::yield();
                answer = answer_of(socket(AF_CAN, SOCK_RAW, 1));
              });
              const Status status = filter_start_up_calls({});
              filtered = true;
              early.join();
              return status.ok() ? answer : to_string(status.error());
            }),
            std::strerror(EAFNOSUPPORT));
}

TEST(SystemCallFilterTest, ZeroMqWorksUnderBothStages) {
  const test::TempDir folder;
  EXPECT_EQ(after_both([&]() -> std::string {
              ipc::ZmqOptions options;
              options.ipc_dir = folder.path();
              const Clock& clock = Clock::real();
              auto transport = ipc::ZmqTransport::create(clock, options);
              if (!transport.ok()) return to_string(transport.error());
              auto publisher = (*transport)->publisher("modelV2");
              auto subscriber = (*transport)->subscriber("modelV2", ipc::SubscribeMode::kQueue);
              if (!publisher.ok()) return to_string(publisher.error());
              if (!subscriber.ok()) return to_string(subscriber.error());
              const std::array<std::byte, 8> message{};
              const Deadline patience = Deadline::after(clock, 15 * kSecond);
              while (!patience.passed(clock)) {
                if (!(*publisher)->send(message).ok()) return "not sent";
                ipc::Subscriber* const waiting = subscriber->get();
                const auto came =
                    (*transport)->wait({&waiting, 1}, Deadline::after(clock, 20 * kMillisecond));
                if (came.ok() && *came) return "arrived";
              }
              return "never arrived";
            }),
            "arrived");
}

}  // namespace
}  // namespace modeld
