#include "ipc/msgq/msgq_transport.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ipc/frames/vision_protocol.h"
#include "ipc/msgq/msgq_publisher.h"
#include "ipc/msgq/msgq_subscriber.h"
#include "ipc/msgq/ring_file.h"
#include "ipc/msgq/thread_wake.h"

namespace modeld::ipc {
namespace {

uint64_t data_bytes_of(std::string_view topic) {
  const Service* service = find_service(topic);
  return service == nullptr ? kDefaultQueueBytes : service->queue_bytes;
}

// The subscribers one wait is about.
struct Waiting {
  std::array<MsgqSubscriber*, Transport::kMaxWaitSubscribers> list{};
  size_t count = 0;
  uint32_t thread = own_thread();

  MsgqSubscriber* find_ready() const {
    for (size_t i = 0; i < count; ++i) {
      if (list[i]->ready(thread)) return list[i];
    }
    return nullptr;
  }
  Nanoseconds patience(Nanoseconds remaining) const {
    for (size_t i = 0; i < count; ++i) remaining = std::min(remaining, list[i]->patience());
    return remaining;
  }
};

}  // namespace

Result<std::unique_ptr<MsgqTransport>> MsgqTransport::create(const Clock& clock,
                                                             MsgqOptions options) {
  if (!options.shm_dir.is_absolute()) {
    return Error(ErrorCode::kInvalidArgument, "the folder for rings must be an absolute path")
        .expecting("/...", options.shm_dir.string());
  }
  if (!options.prefix.empty()) MODELD_TRY(check_path_name(options.prefix));
  install_wake_handler();
  return std::unique_ptr<MsgqTransport>(new MsgqTransport(clock, std::move(options)));
}

MsgqTransport::MsgqTransport(const Clock& clock, MsgqOptions options)
    : clock_(clock), options_(std::move(options)) {}

MsgqTransport::~MsgqTransport() = default;

std::filesystem::path MsgqTransport::ring_path(std::string_view topic) const {
  if (options_.prefix.empty()) return options_.shm_dir / ("msgq_" + std::string(topic));
  return options_.shm_dir / ("msgq_" + options_.prefix) / topic;
}

Result<std::filesystem::path> MsgqTransport::make_ring(std::string_view topic) const {
  MODELD_TRY(check_topic_name(topic));
  std::filesystem::path path = ring_path(topic);
  MODELD_ASSIGN(const RingFile made, RingFile::open(path, data_bytes_of(topic)));
  return path;
}

Result<std::unique_ptr<Publisher>> MsgqTransport::publisher(std::string_view topic) {
  MODELD_TRY(check_publish(options_.role, topic));
  return MsgqPublisher::open(clock_, ring_path(topic), std::string(topic), data_bytes_of(topic));
}

Result<std::unique_ptr<Subscriber>> MsgqTransport::subscriber(std::string_view topic,
                                                              SubscribeMode mode) {
  MODELD_TRY(check_topic_name(topic));
  return MsgqSubscriber::open(clock_, ring_path(topic), std::string(topic), data_bytes_of(topic),
                              mode == SubscribeMode::kConflate);
}

Result<bool> MsgqTransport::wait(std::span<Subscriber* const> subscribers, Deadline deadline) {
  if (subscribers.size() > kMaxWaitSubscribers) {
    return Error(ErrorCode::kInvalidArgument, "too many subscribers to wait for")
        .expecting("at most " + std::to_string(kMaxWaitSubscribers),
                   std::to_string(subscribers.size()));
  }
  Waiting waiting;
  for (Subscriber* each : subscribers) {
    auto* subscriber = dynamic_cast<MsgqSubscriber*>(each);
    if (subscriber == nullptr) {
      return Error(ErrorCode::kInvalidArgument, "a subscriber of another transport");
    }
    waiting.list[waiting.count++] = subscriber;
  }
  if (waiting.find_ready() != nullptr) return true;
  WakeableSleep sleeper;
  auto ended = WakeableSleep::Ended::kWoken;
  bool slept = false;
  while (true) {
    if (MsgqSubscriber* ready = waiting.find_ready()) {
      if (slept && ended == WakeableSleep::Ended::kWoken) ready->note_woken();
      if (slept && ended == WakeableSleep::Ended::kTimeout) ready->note_found_by_looking();
      return true;
    }
    const Nanoseconds remaining = deadline.remaining(clock_);
    if (remaining <= 0 || ended == WakeableSleep::Ended::kInterrupted) return false;
    ended = sleeper.sleep(waiting.patience(remaining));
    slept = true;
  }
}

}  // namespace modeld::ipc
