#include "tools/modelctl/bus_benchmark.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

namespace modeld::modelctl {
namespace {

constexpr std::string_view kTopic = "modelV2";
constexpr Nanoseconds kPatience = 5 * kSecond;
constexpr Nanoseconds kStep = 20 * kMillisecond;
// What has not come by then was dropped (ZeroMQ at its high-water mark).
constexpr Nanoseconds kLongestWay = 100 * kMillisecond;

// What the sender writes at the start of a message. Number 0: is anybody there?
struct Stamp {
  uint64_t number = 0;
  Nanoseconds sent = 0;
};

struct Shared {
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> last{0};  // number of the newest message taken
  std::atomic<uint64_t> received{0};
  std::atomic<bool> met{false};
  std::vector<Nanoseconds> arrivals;  // by number - 1; -1: not seen. The receiver's until joined.
  Status failed;
};

Status receive_all(const Clock& clock, ipc::Transport& transport, ipc::Subscriber& subscriber,
                   Shared& shared) {
  ipc::Subscriber* const one[] = {&subscriber};
  while (!shared.stop) {
    MODELD_ASSIGN(const bool ready, transport.wait(one, Deadline::after(clock, kStep)));
    if (!ready) continue;
    while (true) {
      MODELD_ASSIGN(const auto message, subscriber.receive());
      if (!message) break;
      const Nanoseconds now = clock.monotonic();
      Stamp stamp;
      std::memcpy(&stamp, message->data(), sizeof stamp);
      shared.met = true;
      if (stamp.number == 0) continue;
      if (stamp.number <= shared.arrivals.size()) {
        shared.arrivals[stamp.number - 1] = now - stamp.sent;
      }
      ++shared.received;
      shared.last = stamp.number;
    }
  }
  return {};
}

class Sender {
 public:
  Sender(const Clock& clock, ipc::Publisher& publisher, const BusBenchmarkOptions& options,
         Shared& shared)
      : clock_(clock),
        publisher_(publisher),
        options_(options),
        shared_(shared),
        message_(options.message_bytes) {}

  Status meet() {
    const Deadline deadline = Deadline::after(clock_, kPatience);
    while (!shared_.met) {
      if (deadline.passed(clock_)) return Error(ErrorCode::kDeadline, "no message arrives");
      MODELD_TRY(send(0));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return {};
  }

  Status paced(std::vector<Nanoseconds>& costs) {
    const auto period = static_cast<Nanoseconds>(kSecond / options_.rate_hz);
    Nanoseconds next = clock_.monotonic();
    for (uint64_t i = 1; i <= options_.paced_messages; ++i) {
      next += period;
      std::this_thread::sleep_for(std::chrono::nanoseconds(next - clock_.monotonic()));
      const Nanoseconds start = clock_.monotonic();
      MODELD_TRY(send(i));
      costs.push_back(clock_.monotonic() - start);
    }
    std::this_thread::sleep_for(std::chrono::nanoseconds(kStep));
    return {};
  }

  // Messages that arrived per second.
  Result<double> burst() {
    const uint64_t first = options_.paced_messages + 1;
    const uint64_t before = shared_.received;
    const Nanoseconds start = clock_.monotonic();
    for (uint64_t i = 0; i < options_.burst_messages; ++i) {
      if (i >= options_.window) wait_for(first + i - options_.window);
      MODELD_TRY(send(first + i));
    }
    const uint64_t last = first + options_.burst_messages - 1;
    const Deadline deadline = Deadline::after(clock_, kPatience);
    while (!wait_for(last)) {
      if (deadline.passed(clock_)) return Error(ErrorCode::kDeadline, "messages stopped coming");
      MODELD_TRY(send(last));
    }
    const auto seconds = static_cast<double>(clock_.monotonic() - start) / kSecond;
    return static_cast<double>(shared_.received - before) / seconds;
  }

 private:
  Status send(uint64_t number) {
    const Stamp stamp{number, clock_.monotonic()};
    std::memcpy(message_.data(), &stamp, sizeof stamp);
    return publisher_.send(message_);
  }

  bool wait_for(uint64_t number) {
    for (Deadline deadline = Deadline::after(clock_, kLongestWay); shared_.last < number;) {
      if (deadline.passed(clock_)) return false;
      std::this_thread::yield();
    }
    return true;
  }

  const Clock& clock_;
  ipc::Publisher& publisher_;
  const BusBenchmarkOptions& options_;
  Shared& shared_;
  std::vector<std::byte> message_;
};

Status measure(Sender& sender, const BusBenchmarkOptions& options, BusBenchmark& result) {
  std::vector<Nanoseconds> costs;
  MODELD_TRY(sender.meet());
  MODELD_TRY(sender.paced(costs));
  MODELD_ASSIGN(result.messages_per_s, sender.burst());
  result.send = summarise(std::move(costs));
  result.megabytes_per_s = result.messages_per_s * static_cast<double>(options.message_bytes) / 1e6;
  return {};
}

}  // namespace

Result<BusBenchmark> benchmark_bus(const Clock& clock, const MakeTransport& make,
                                   const BusBenchmarkOptions& options) {
  if (options.message_bytes < sizeof(Stamp)) {
    return Error(ErrorCode::kInvalidArgument, "message size")
        .expecting("at least 16 bytes", std::to_string(options.message_bytes));
  }
  MODELD_ASSIGN(const auto sending, make());
  MODELD_ASSIGN(const auto receiving, make());
  MODELD_ASSIGN(const auto publisher, sending->publisher(kTopic));
  MODELD_ASSIGN(const auto subscriber, receiving->subscriber(kTopic, ipc::SubscribeMode::kQueue));
  Shared shared;
  shared.arrivals.assign(options.paced_messages, -1);
  std::thread receiver(
      [&] { shared.failed = receive_all(clock, *receiving, *subscriber, shared); });
  BusBenchmark result;
  Sender sender(clock, *publisher, options, shared);
  const Status measured = measure(sender, options, result);
  shared.stop = true;
  receiver.join();
  MODELD_TRY(measured);
  MODELD_TRY(shared.failed);
  result.lost = static_cast<uint64_t>(std::erase(shared.arrivals, -1));
  result.arrival = summarise(std::move(shared.arrivals));
  return result;
}

}  // namespace modeld::modelctl
