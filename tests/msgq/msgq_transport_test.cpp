// Files, sizes, owners and wake-ups around a ring. What every transport must do is tested in
// tests/ipc/transport_test.cpp, with this one among them.
#include "ipc/msgq/msgq_transport.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "ipc/msgq/ring_file.h"
#include "ipc/msgq/ring_reader.h"
#include "ipc/msgq/ring_writer.h"
#include "ipc/msgq/thread_wake.h"
#include "tests/msgq/ring_memory.h"
#include "tests/support/temp_dir.h"

namespace modeld::ipc {
namespace {

using modeld::test::TempDir;
using test::check_numbered;
using test::numbered_message;

constexpr uint64_t kCarStateBytes = 256'000 + 384;

std::unique_ptr<MsgqTransport> make_transport(const std::filesystem::path& dir,
                                              const std::string& prefix = {},
                                              const Clock& clock = Clock::real()) {
  MsgqOptions options;
  options.shm_dir = dir;
  options.prefix = prefix;
  auto made = MsgqTransport::create(clock, options);
  EXPECT_TRUE(made.ok()) << to_string(made.error());
  return *std::move(made);
}

Deadline soon(Nanoseconds duration = 5 * kSecond) {
  return Deadline::after(Clock::real(), duration);
}

// What is logged while it lives.
class CapturedLog {
 public:
  CapturedLog() : before_(spdlog::default_logger()) {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_)));
  }
  ~CapturedLog() { spdlog::set_default_logger(before_); }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::shared_ptr<spdlog::logger> before_;
};

TEST(MsgqTransport, FilesHaveTheNamesAndSizesOfTheirTopics) {
  const TempDir dir;
  const auto transport = make_transport(dir.path());
  const auto size_of = [&](const std::string& topic) {
    const auto subscriber = transport->subscriber(topic, SubscribeMode::kQueue);
    EXPECT_TRUE(subscriber.ok());
    return std::filesystem::file_size(dir.path() / ("msgq_" + topic));
  };
  EXPECT_EQ(size_of("carState"), kCarStateBytes);
  EXPECT_EQ(size_of("modelV2"), 10'485'760u + 384);
  EXPECT_EQ(size_of("controlsState"), 2'097'152u + 384);
  EXPECT_EQ(size_of("visionipc_camerad_0"), 1'048'576u + 384);
  // The old name is a topic of its own with the same size.
  EXPECT_EQ(size_of("roadCameraState"), 256'000u + 384);
}

TEST(MsgqTransport, PrefixIsAFolderThatMustExist) {
  const TempDir dir;
  const auto transport = make_transport(dir.path(), "abc");
  const auto missing = transport->subscriber("carState", SubscribeMode::kQueue);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().context, (dir.path() / "msgq_abc").string());
  std::filesystem::create_directory(dir.path() / "msgq_abc");
  EXPECT_TRUE(transport->subscriber("carState", SubscribeMode::kQueue).ok());
  EXPECT_TRUE(std::filesystem::exists(dir.path() / "msgq_abc" / "carState"));
  MsgqOptions hostile;
  hostile.prefix = "../etc";
  EXPECT_FALSE(MsgqTransport::create(Clock::real(), hostile).ok());
}

TEST(MsgqTransport, AnotherSizeIsRefusedAndLeftAlone) {
  const TempDir dir;
  const auto path = dir.path() / "msgq_carState";
  for (const uint64_t bytes : {uint64_t{10'485'760 + 384}, uint64_t{100}, kCarStateBytes - 8}) {
    std::ofstream(path) << "owner's";
    std::filesystem::resize_file(path, bytes);
    const auto transport = make_transport(dir.path());
    const auto reading = transport->subscriber("carState", SubscribeMode::kQueue);
    const auto writing = transport->publisher("carState");
    ASSERT_FALSE(reading.ok());
    ASSERT_FALSE(writing.ok());
    EXPECT_EQ(reading.error().code, ErrorCode::kRefused);
    EXPECT_EQ(writing.error().code, ErrorCode::kRefused);
    EXPECT_EQ(writing.error().expected, std::to_string(kCarStateBytes) + " bytes");
    EXPECT_EQ(writing.error().found, std::to_string(bytes));
    EXPECT_EQ(std::filesystem::file_size(path), bytes);
  }
}

TEST(MsgqTransport, LinksAndFoldersAreNotFollowed) {
  const TempDir dir;
  std::ofstream(dir.path() / "precious") << "x";
  std::filesystem::create_symlink(dir.path() / "precious", dir.path() / "msgq_carState");
  std::filesystem::create_directory(dir.path() / "msgq_carControl");
  const auto transport = make_transport(dir.path());
  EXPECT_FALSE(transport->subscriber("carState", SubscribeMode::kQueue).ok());
  EXPECT_FALSE(transport->subscriber("carControl", SubscribeMode::kQueue).ok());
  EXPECT_EQ(std::filesystem::file_size(dir.path() / "precious"), 1u);
}

// Whoever wakes up between the look at the ring and the sleep must not sleep on.
TEST(MsgqTransport, SleeperIsWokenLongBeforeItsDeadline) {
  const TempDir dir;
  const auto transport = make_transport(dir.path());
  auto subscriber = transport->subscriber("carState", SubscribeMode::kQueue);
  auto publisher = transport->publisher("carState");
  ASSERT_TRUE(subscriber.ok() && publisher.ok());
  EXPECT_FALSE((*subscriber)->receive()->has_value());  // registers with this publisher
  Subscriber* const one[] = {subscriber->get()};
  std::atomic<uint64_t> taken{0};
  std::thread sender([&] {
    for (uint64_t i = 1; i <= 200; ++i) {
      EXPECT_TRUE((*publisher)->send(numbered_message(i, 64)).ok());
      while (taken < i) std::this_thread::yield();
    }
  });
  for (uint64_t i = 1; i <= 200; ++i) {
    ASSERT_TRUE(*transport->wait(one, soon(30 * kSecond)));
    EXPECT_EQ(check_numbered(**(*subscriber)->receive()), i);
    taken = i;
  }
  sender.join();
}

// The thread that waits is the one in the slot, also after a change of threads.
TEST(MsgqTransport, AnotherThreadMayWait) {
  const TempDir dir;
  const auto transport = make_transport(dir.path());
  auto subscriber = transport->subscriber("carState", SubscribeMode::kQueue);
  auto publisher = transport->publisher("carState");
  ASSERT_TRUE(subscriber.ok() && publisher.ok());
  std::atomic<uint32_t> waiter{0};
  std::thread thread([&] {
    Subscriber* const one[] = {subscriber->get()};
    EXPECT_FALSE(*transport->wait(one, soon(0)));
    waiter = own_thread();
    EXPECT_TRUE(*transport->wait(one, soon()));
  });
  while (waiter == 0) std::this_thread::yield();
  auto file = RingFile::open(dir.path() / "msgq_carState", 256'000);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(thread_of(file->ring().read_uid(0).load()), waiter.load());
  EXPECT_TRUE((*publisher)->send(numbered_message(1, 64)).ok());
  thread.join();
}

TEST(MsgqTransport, RemovedRingIsFollowedWithinASecond) {
  const TempDir dir;
  ManualClock clock;
  const auto transport = make_transport(dir.path(), {}, clock);
  auto subscriber = transport->subscriber("carState", SubscribeMode::kQueue);
  auto publisher = transport->publisher("carState");
  ASSERT_TRUE(subscriber.ok() && publisher.ok());
  std::filesystem::remove(dir.path() / "msgq_carState");
  ASSERT_TRUE((*publisher)->send(numbered_message(1, 64)).ok());
  clock.advance(1100 * kMillisecond);
  ASSERT_TRUE((*publisher)->send(numbered_message(2, 64)).ok());  // into a new file
  EXPECT_FALSE((*subscriber)->receive()->has_value());            // which it finds now
  ASSERT_TRUE((*publisher)->send(numbered_message(3, 64)).ok());
  const auto message = (*subscriber)->receive();
  ASSERT_TRUE(message.ok() && message->has_value());
  EXPECT_EQ(check_numbered(**message), 3u);
}

// A stock process with another idea of the size cuts the file: touching it would be SIGBUS.
TEST(MsgqTransport, CutRingIsNotTouched) {
  const TempDir dir;
  ManualClock clock;
  const auto path = dir.path() / "msgq_carState";
  const auto transport = make_transport(dir.path(), {}, clock);
  auto subscriber = transport->subscriber("carState", SubscribeMode::kQueue);
  auto publisher = transport->publisher("carState");
  ASSERT_TRUE(subscriber.ok() && publisher.ok());
  std::filesystem::resize_file(path, 4);
  EXPECT_FALSE((*subscriber)->receive()->has_value());
  const Status refused = (*publisher)->send(numbered_message(1, 64));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kIo);
  clock.advance(2 * kSecond);
  EXPECT_EQ((*publisher)->send(numbered_message(1, 64)).error().code, ErrorCode::kRefused);
  std::filesystem::remove(path);
  clock.advance(2 * kSecond);
  EXPECT_FALSE((*subscriber)->receive()->has_value());
  EXPECT_TRUE((*publisher)->send(numbered_message(1, 64)).ok());
  EXPECT_FALSE((*subscriber)->receive()->has_value());  // registers with the new publisher
  EXPECT_TRUE((*publisher)->send(numbered_message(2, 64)).ok());
  EXPECT_EQ(check_numbered(**(*subscriber)->receive()), 2u);
}

// A stock publisher does not ask: it takes the topic. When it has gone, ours takes it back.
TEST(MsgqTransport, TopicTakenByAStockPublisherIsTakenBack) {
  const TempDir dir;
  ManualClock clock;
  const auto transport = make_transport(dir.path(), {}, clock);
  auto publisher = transport->publisher("carState");
  ASSERT_TRUE(publisher.ok());
  auto file = RingFile::open(dir.path() / "msgq_carState", 256'000);
  ASSERT_TRUE(file.ok());
  const pid_t stock = ::fork();
  if (stock == 0) {
    ::pause();
    ::_exit(0);
  }
  RingWriter thief(file->ring(), uint64_t{77} << 32 | static_cast<uint32_t>(stock));
  thief.take_over();
  EXPECT_EQ((*publisher)->send(numbered_message(1, 64)).error().code, ErrorCode::kRefused);
  clock.advance(2 * kSecond);
  EXPECT_EQ((*publisher)->send(numbered_message(1, 64)).error().code, ErrorCode::kRefused);
  // And a newcomer of ours is refused while the other lives and has the file.
  ASSERT_TRUE(publisher->get() != nullptr);
  publisher->reset();
  const auto newcomer = transport->publisher("carState");
  ASSERT_FALSE(newcomer.ok());
  EXPECT_EQ(newcomer.error().code, ErrorCode::kIo) << to_string(newcomer.error());
  ::kill(stock, SIGKILL);
  ::waitpid(stock, nullptr, 0);
  EXPECT_TRUE(transport->publisher("carState").ok());
}

// A signal without a handler would end the process it is meant for.
TEST(MsgqTransport, ReaderThatDoesNotTakeTheSignalIsNotKilled) {
  const TempDir dir;
  const CapturedLog log;
  const auto transport = make_transport(dir.path());
  auto publisher = transport->publisher("carState");
  ASSERT_TRUE(publisher.ok());
  const pid_t deaf = ::fork();
  if (deaf == 0) {
    ::signal(SIGUSR2, SIG_DFL);
    ::pause();
    ::_exit(0);
  }
  auto file = RingFile::open(dir.path() / "msgq_carState", 256'000);
  ASSERT_TRUE(file.ok());
  // It may not have come to its signal() yet.
  while (check_and_wake_thread(static_cast<uint32_t>(deaf)) == WakeResult::kSent) ::usleep(1000);
  RingReader reader(file->ring(), uint64_t{5} << 32 | static_cast<uint32_t>(deaf), false, {});
  reader.enter();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE((*publisher)->send(numbered_message(1, 64)).ok());
  EXPECT_EQ(::waitpid(deaf, nullptr, WNOHANG), 0);
  EXPECT_NE(log.text().find("does not take SIGUSR2"), std::string::npos) << log.text();
  ::kill(deaf, SIGKILL);
  ::waitpid(deaf, nullptr, 0);
}

// nobody publishes, we read: it has no right to signal us.
TEST(MsgqTransport, MessagesOfAnotherUserArriveByLookingAndTheLogSaysWhy) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: the peer must be another user";
  const TempDir dir;
  ASSERT_EQ(::chmod(dir.path().c_str(), 0777), 0);
  const CapturedLog log;
  const auto transport = make_transport(dir.path());
  auto subscriber = transport->subscriber("carState", SubscribeMode::kQueue);
  ASSERT_TRUE(subscriber.ok());
  ASSERT_EQ(::chmod((dir.path() / "msgq_carState").c_str(), 0666), 0);
  int said[2];
  ASSERT_EQ(::pipe(said), 0);
  const pid_t peer = ::fork();
  if (peer == 0) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(4);
    const CapturedLog own_log;
    const auto theirs = make_transport(dir.path());
    auto publisher = theirs->publisher("carState");
    if (!publisher.ok()) ::_exit(5);
    for (uint64_t i = 1; i <= 400; ++i) {
      if (!(*publisher)->send(numbered_message(i, 64)).ok()) ::_exit(6);
      ::usleep(5000);
    }
    const std::string text = own_log.text();
    if (::write(said[1], text.data(), text.size()) < 0) ::_exit(7);
    ::_exit(0);
  }
  ::close(said[1]);
  Subscriber* const one[] = {subscriber->get()};
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(*transport->wait(one, soon()));
    const auto message = (*subscriber)->receive();
    ASSERT_TRUE(message.ok());
    if (message->has_value()) check_numbered(**message);
  }
  EXPECT_NE(log.text().find("without a wake-up signal"), std::string::npos) << log.text();
  int status = 0;
  ::waitpid(peer, &status, 0);
  EXPECT_EQ(status, 0);
  std::string theirs(4096, '\0');
  theirs.resize(static_cast<size_t>(::read(said[0], theirs.data(), theirs.size())));
  ::close(said[0]);
  EXPECT_NE(theirs.find("belongs to another user"), std::string::npos) << theirs;
}

TEST(MsgqTransport, OvertakenSubscriberCountsIt) {
  const TempDir dir;
  const auto transport = make_transport(dir.path());
  auto publisher = transport->publisher("carState");
  auto subscriber = transport->subscriber("carState", SubscribeMode::kQueue);
  ASSERT_TRUE(publisher.ok() && subscriber.ok());
  for (uint64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE((*publisher)->send(numbered_message(i, 80'000)).ok());
  }
  EXPECT_FALSE((*subscriber)->receive()->has_value());
  EXPECT_EQ((*subscriber)->lapped(), 1u);
  ASSERT_TRUE((*publisher)->send(numbered_message(11, 80'000)).ok());
  EXPECT_EQ(check_numbered(**(*subscriber)->receive()), 11u);
  const Status refused = (*publisher)->send(numbered_message(1, 90'000));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().found, "90000");
}

}  // namespace
}  // namespace modeld::ipc
