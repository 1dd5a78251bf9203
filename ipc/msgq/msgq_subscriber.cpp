#include "ipc/msgq/msgq_subscriber.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "ipc/msgq/thread_wake.h"

namespace modeld::ipc {
namespace {

constexpr Nanoseconds kLookInterval = kSecond;
constexpr Nanoseconds kPatienceWoken = 50 * kMillisecond;
constexpr Nanoseconds kPatienceUnknown = 5 * kMillisecond;
constexpr Nanoseconds kPatienceUnwoken = kMillisecond;
// One may be a coincidence: the message is there a moment before its signal.
constexpr int kUnwokenBefore = 3;

}  // namespace

MsgqSubscriber::MsgqSubscriber(const Clock& clock, std::filesystem::path path, std::string topic,
                               uint64_t data_bytes, bool conflate)
    : clock_(clock),
      path_(std::move(path)),
      topic_(std::move(topic)),
      data_bytes_(data_bytes),
      conflate_(conflate) {}

Result<std::unique_ptr<Subscriber>> MsgqSubscriber::open(const Clock& clock,
                                                         const std::filesystem::path& path,
                                                         std::string topic, uint64_t data_bytes,
                                                         bool conflate) {
  std::unique_ptr<MsgqSubscriber> made(
      new MsgqSubscriber(clock, path, std::move(topic), data_bytes, conflate));
  MODELD_TRY(made->open_ring());
  return std::unique_ptr<Subscriber>(std::move(made));
}

MsgqSubscriber::~MsgqSubscriber() {
  if (reader_ && file_.is_open() && file_.intact()) reader_->leave();
}

void MsgqSubscriber::drop_ring() {
  if (reader_) {
    earlier_.lapped += reader_->counts().lapped;
    earlier_.rejected += reader_->counts().rejected;
    reader_.reset();
  }
  file_ = RingFile();
}

Status MsgqSubscriber::open_ring() {
  looked_ = clock_.monotonic();
  drop_ring();
  MODELD_ASSIGN(file_, RingFile::open(path_, data_bytes_));
  reader_.emplace(file_.ring(), make_ring_uid(), conflate_, [](uint64_t evicted) {
    static_cast<void>(check_and_wake_thread(thread_of(evicted)));
  });
  reader_->enter();
  return {};
}

// Whether there is a ring to look into. One that was removed, replaced or cut is opened anew, tried
// once a second.
bool MsgqSubscriber::usable() {
  const bool whole = reader_ && file_.intact();
  if (clock_.monotonic() - looked_ < kLookInterval) {
    if (!whole) drop_ring();
    return whole;
  }
  looked_ = clock_.monotonic();
  if (whole && file_.in_place()) return true;
  const Status opened = open_ring();
  if (opened.ok() || !complained_) {
    spdlog::warn("topic={} ring {}", topic_,
                 opened.ok() ? "was replaced; following the new one" : to_string(opened.error()));
  }
  complained_ = !opened.ok();
  return opened.ok();
}

Result<std::optional<std::span<const std::byte>>> MsgqSubscriber::receive() {
  if (!usable()) return std::optional<std::span<const std::byte>>();
  return reader_->receive();
}

uint64_t MsgqSubscriber::rejected() const {
  return earlier_.rejected + (reader_ ? reader_->counts().rejected : 0);
}

uint64_t MsgqSubscriber::lapped() const {
  return earlier_.lapped + (reader_ ? reader_->counts().lapped : 0);
}

bool MsgqSubscriber::ready(uint32_t thread) {
  if (!usable()) return false;
  const uint64_t uid = reader_->uid();
  if (thread_of(uid) != thread) reader_->set_uid((uid >> 32 << 32) | thread);
  return reader_->ready();
}

Nanoseconds MsgqSubscriber::patience() const {
  switch (waking_) {
    case Waking::kWorks:
      return kPatienceWoken;
    case Waking::kFails:
      return kPatienceUnwoken;
    case Waking::kUnknown:
      break;
  }
  return kPatienceUnknown;
}

void MsgqSubscriber::note_woken() {
  waking_ = Waking::kWorks;
  unwoken_ = 0;
}

void MsgqSubscriber::note_found_by_looking() {
  if (waking_ == Waking::kFails || ++unwoken_ < kUnwokenBefore) return;
  waking_ = Waking::kFails;
  spdlog::warn(
      "topic={} messages come without a wake-up signal (is the publisher of another user?): "
      "looking every {} ms instead, up to that much later",
      topic_, kPatienceUnwoken / kMillisecond);
}

}  // namespace modeld::ipc
