// Topics over openpilot's shared-memory rings (facts 2.2): one file per topic in /dev/shm, which
// stock publishers and subscribers use as well.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "ipc/transport/topics.h"
#include "ipc/transport/transport.h"

namespace modeld::ipc {

struct MsgqOptions {
  std::filesystem::path shm_dir = "/dev/shm";
  std::string prefix;  // see openpilot_prefix(); the folder it leads to must exist
  Role role = Role::kDesk;
};

// A send copies into the ring and signals whoever sleeps; it waits for nobody. A subscriber that is
// passed by the writer loses its backlog and counts it (Subscriber::lapped). A ring's size follows
// from its topic (topics.h); a message may take a third of it. Publishers and subscribers may
// outlive the transport, but not the clock. Steady state: no allocation, one fstat per call.
//
// A ring that somebody removes or replaces is noticed within a second and opened anew. A topic has
// one publisher: publisher() refuses while another one lives (kIo), but a stock publisher that
// starts later takes the topic; send() is refused then, until that one has gone.
class MsgqTransport final : public Transport {
 public:
  static Result<std::unique_ptr<MsgqTransport>> create(const Clock& clock, MsgqOptions options);
  ~MsgqTransport() override;

  Result<std::unique_ptr<Publisher>> publisher(std::string_view topic) override;
  Result<std::unique_ptr<Subscriber>> subscriber(std::string_view topic,
                                                 SubscribeMode mode) override;
  Result<bool> wait(std::span<Subscriber* const> subscribers, Deadline deadline) override;

  // Makes the topic's ring unless there is one, for a process that is about to give up the right to
  // make files, and names it. Errors as of subscriber().
  Result<std::filesystem::path> make_ring(std::string_view topic) const;

  // `<shm_dir>/msgq_[<prefix>/]<topic>`
  std::filesystem::path ring_path(std::string_view topic) const;

 private:
  MsgqTransport(const Clock& clock, MsgqOptions options);

  const Clock& clock_;
  const MsgqOptions options_;
};

}  // namespace modeld::ipc
