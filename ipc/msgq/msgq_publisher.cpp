#include "ipc/msgq/msgq_publisher.h"

#include <utility>

namespace modeld::ipc {
namespace {

constexpr Nanoseconds kLookInterval = kSecond;

}  // namespace

MsgqPublisher::MsgqPublisher(const Clock& clock, std::filesystem::path path, std::string topic,
                             uint64_t data_bytes)
    : clock_(clock),
      path_(std::move(path)),
      topic_(topic),
      data_bytes_(data_bytes),
      waker_(clock, std::move(topic)) {}

Result<std::unique_ptr<Publisher>> MsgqPublisher::open(const Clock& clock,
                                                       const std::filesystem::path& path,
                                                       std::string topic, uint64_t data_bytes) {
  std::unique_ptr<MsgqPublisher> made(new MsgqPublisher(clock, path, std::move(topic), data_bytes));
  MODELD_TRY(made->open_ring());
  return std::unique_ptr<Publisher>(std::move(made));
}

MsgqPublisher::~MsgqPublisher() {
  if (writer_ && file_.is_open() && file_.intact()) writer_->release();
}

Status MsgqPublisher::open_ring() {
  looked_ = clock_.monotonic();
  writer_.reset();
  MODELD_ASSIGN(file_, RingFile::open(path_, data_bytes_));
  MODELD_TRY(file_.claim());
  writer_.emplace(file_.ring(), make_ring_uid());
  writer_->take_over();
  return {};
}

// A ring that was removed, replaced or cut is left for a new one, and one that a stock publisher
// had taken is taken back when he has gone; tried once a second.
Status MsgqPublisher::keep_ring() {
  const bool lost = !writer_ || !file_.intact();
  if (clock_.monotonic() - looked_ < kLookInterval) {
    if (!lost) return {};
    return Error(ErrorCode::kIo, "the topic's ring has gone").in(path_.string());
  }
  looked_ = clock_.monotonic();
  if (lost || !file_.in_place()) return open_ring();
  if (!writer_->is_current() && file_.claim().ok()) writer_->take_over();
  return {};
}

Status MsgqPublisher::send(std::span<const std::byte> framed_message) {
  MODELD_TRY(check_message_size(framed_message.size()));
  MODELD_TRY(keep_ring());
  if (auto sent = writer_->send(framed_message); !sent.ok()) {
    return std::move(sent).error().in("topic " + topic_);
  }
  waker_.wake(writer_->readers());
  return {};
}

}  // namespace modeld::ipc
