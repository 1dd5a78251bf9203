// A ring's sending end with everything around it: file, claim, wake-ups.
#pragma once

#include <optional>
#include <string>

#include "ipc/msgq/ring_file.h"
#include "ipc/msgq/ring_writer.h"
#include "ipc/msgq/thread_wake.h"
#include "ipc/transport/transport.h"

namespace modeld::ipc {

class MsgqPublisher final : public Publisher {
 public:
  static Result<std::unique_ptr<Publisher>> open(const Clock& clock,
                                                 const std::filesystem::path& path,
                                                 std::string topic, uint64_t data_bytes);
  ~MsgqPublisher() override;

  Status send(std::span<const std::byte> framed_message) override;

 private:
  MsgqPublisher(const Clock& clock, std::filesystem::path path, std::string topic,
                uint64_t data_bytes);
  Status open_ring();
  Status keep_ring();

  const Clock& clock_;
  const std::filesystem::path path_;
  const std::string topic_;
  const uint64_t data_bytes_;
  RingFile file_;
  std::optional<RingWriter> writer_;
  ReaderWaker waker_;
  Nanoseconds looked_ = 0;  // monotonic; when the file was last looked after
};

}  // namespace modeld::ipc
