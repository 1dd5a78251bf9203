// Either side may be killed at any instruction: the other goes on, the next one takes over, and no
// message is ever torn. Seconds: $MODELD_KILL_SECONDS, 3 if not set.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "ipc/msgq/msgq_transport.h"
#include "tests/msgq/ring_memory.h"
#include "tests/support/temp_dir.h"

namespace modeld::ipc {
namespace {

using test::check_numbered;
using test::numbered_message;

constexpr std::string_view kTopic = "carState";
constexpr int kPublisher = 0;

std::unique_ptr<MsgqTransport> make_transport(const std::filesystem::path& dir) {
  MsgqOptions options;
  options.shm_dir = dir;
  auto made = MsgqTransport::create(Clock::real(), options);
  EXPECT_TRUE(made.ok());
  return *std::move(made);
}

// Numbers grow over the lives of publishers: they are times.
[[noreturn]] void publish_for_ever(const std::filesystem::path& dir, unsigned seed) {
  const auto transport = make_transport(dir);
  auto publisher = transport->publisher(kTopic);
  if (!publisher.ok()) {
    std::fprintf(stderr, "publisher: %s\n", to_string(publisher.error()).c_str());
    ::_exit(2);
  }
  std::minstd_rand random(seed);
  while (true) {
    for (int i = 0; i < 20; ++i) {
      const auto number = static_cast<uint64_t>(Clock::real().monotonic());
      if (!(*publisher)->send(numbered_message(number, 16 + random() % 30'000)).ok()) ::_exit(3);
    }
    ::usleep(random() % 400);
  }
}

// Ends with 1 at the first torn or disordered message.
[[noreturn]] void read_for_ever(const std::filesystem::path& dir, bool conflate) {
  const auto transport = make_transport(dir);
  auto subscriber =
      transport->subscriber(kTopic, conflate ? SubscribeMode::kConflate : SubscribeMode::kQueue);
  if (!subscriber.ok()) ::_exit(2);
  Subscriber* const one[] = {subscriber->get()};
  uint64_t last = 0;
  while (true) {
    if (!*transport->wait(one, Deadline::after(Clock::real(), kSecond))) continue;
    const auto message = (*subscriber)->receive();
    if (!message.ok()) ::_exit(2);
    if (!message->has_value()) continue;
    const uint64_t number = check_numbered(**message);
    if (testing::Test::HasFailure() || number <= last) ::_exit(1);
    last = number;
  }
}

pid_t start(int role, const std::filesystem::path& dir, unsigned seed) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  if (role == kPublisher) publish_for_ever(dir, seed);
  read_for_ever(dir, role % 2 == 0);
}

TEST(RingKill, EitherSideDiesAtAnyInstruction) {
  const char* wanted = std::getenv("MODELD_KILL_SECONDS");
  const double seconds = wanted == nullptr ? 3 : std::strtod(wanted, nullptr);
  const unsigned seed = std::random_device()();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const modeld::test::TempDir dir;
  const Clock& clock = Clock::real();

  const auto transport = make_transport(dir.path());
  auto subscriber = transport->subscriber(kTopic, SubscribeMode::kQueue);
  ASSERT_TRUE(subscriber.ok());
  Subscriber* const one[] = {subscriber->get()};

  std::array<pid_t, 5> children{};  // a publisher and four readers
  for (size_t i = 0; i < children.size(); ++i) {
    children[i] = start(static_cast<int>(i), dir.path(), random());
  }
  const Deadline end =
      Deadline::after(clock, static_cast<Nanoseconds>(seconds * static_cast<double>(kSecond)));
  int kills = 0;
  uint64_t messages = 0;
  uint64_t last = 0;
  while (!end.passed(clock) && !HasFailure()) {
    // Survivors see messages, whoever died before.
    const Deadline patience = Deadline::after(clock, 10 * kSecond);
    uint64_t seen = 0;
    while (seen < 5 && !patience.passed(clock)) {
      ASSERT_TRUE(transport->wait(one, Deadline::after(clock, 100 * kMillisecond)).ok());
      const auto message = (*subscriber)->receive();
      ASSERT_TRUE(message.ok());
      if (!message->has_value()) continue;
      const uint64_t number = check_numbered(**message);
      EXPECT_GT(number, last);
      last = number;
      ++seen;
    }
    ASSERT_EQ(seen, 5u) << "no messages after " << kills << " kills";
    messages += seen;
    ::usleep(random() % 3000);
    const size_t victim = random() % 2 == 0 ? kPublisher : random() % children.size();
    ::kill(children[victim], SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(children[victim], &status, 0), children[victim]);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        << "child " << victim << " ended by itself with status " << status;
    ++kills;
    children[victim] = start(static_cast<int>(victim), dir.path(), random());
  }
  for (const pid_t child : children) {
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        << "a child ended by itself with status " << status;
  }
  std::printf("%d kills, %llu messages read in between, overtaken %llu times\n", kills,
              static_cast<unsigned long long>(messages),
              static_cast<unsigned long long>((*subscriber)->lapped()));
  EXPECT_GT(kills, 0);
  EXPECT_EQ((*subscriber)->rejected(), 0u);
}

}  // namespace
}  // namespace modeld::ipc
