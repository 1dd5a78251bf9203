// A ring's receiving end with everything around it: file, slot, and how it gets woken.
#pragma once

#include <optional>
#include <string>

#include "ipc/msgq/ring_file.h"
#include "ipc/msgq/ring_reader.h"
#include "ipc/transport/transport.h"

namespace modeld::ipc {

class MsgqSubscriber final : public Subscriber {
 public:
  static Result<std::unique_ptr<Subscriber>> open(const Clock& clock,
                                                  const std::filesystem::path& path,
                                                  std::string topic, uint64_t data_bytes,
                                                  bool conflate);
  ~MsgqSubscriber() override;

  Result<std::optional<std::span<const std::byte>>> receive() override;
  uint64_t rejected() const override;
  uint64_t lapped() const override;

  // Whether a message seems to wait. `thread`: who asks, and who wants to be woken.
  bool ready(uint32_t thread);

  // How long a sleeper may go without looking here by himself. Short while it is not known whether
  // the publisher can wake us, shorter when it is known that he cannot (he is of another user).
  Nanoseconds patience() const;
  // What the sleep before a message ended with, for the above.
  void note_woken();
  void note_found_by_looking();

 private:
  MsgqSubscriber(const Clock& clock, std::filesystem::path path, std::string topic,
                 uint64_t data_bytes, bool conflate);
  Status open_ring();
  void drop_ring();
  bool usable();

  enum class Waking : uint8_t { kUnknown, kWorks, kFails };

  const Clock& clock_;
  const std::filesystem::path path_;
  const std::string topic_;
  const uint64_t data_bytes_;
  const bool conflate_;
  RingFile file_;
  std::optional<RingReader> reader_;
  RingReaderCounts earlier_;  // of rings before this one
  Nanoseconds looked_ = 0;    // monotonic; when the file was last looked after
  bool complained_ = false;
  Waking waking_ = Waking::kUnknown;
  int unwoken_ = 0;  // messages in a row that were found by looking
};

}  // namespace modeld::ipc
