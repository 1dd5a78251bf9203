// A camera server: the other end of the frame-buffer protocol, for our camera tool, the demo and
// tests. Speaks to openpilot's clients as well.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "ipc/frames/vision_protocol.h"
#include "ipc/transport/transport.h"
#include "ipc/transport/unix_listener.h"
#include "runtime/base/unique_fd.h"

namespace modeld::ipc {

struct VisionServerOptions {
  std::filesystem::path socket_dir = "/tmp";
  std::string prefix;  // see openpilot_prefix()
  std::string server = "camerad";
  RecordFormat format = RecordFormat::kNewest;
  uint32_t list_request = kListRequest;  // what this generation of server lists its streams for
};

// Add streams, then start(), then write and publish frames, all from one thread; hand-shakes are
// answered by a thread of the server, one at a time, each within 100 ms.
class VisionServer {
 public:
  static Result<std::unique_ptr<VisionServer>> create(Transport& transport,
                                                      VisionServerOptions options);
  ~VisionServer();
  VisionServer(const VisionServer&) = delete;
  VisionServer& operator=(const VisionServer&) = delete;

  // `count` buffers (1 to kMaxBuffers) of a checked layout, zeroed. Before start() only.
  Status add_stream(uint32_t type, const Nv12Layout& layout, size_t count);

  // Binds the socket and answers from now on. kRefused if another server answers on the path.
  Status start();

  // The buffer the next picture of stream `type` goes to: `layout.length` bytes, the same until
  // publish(). Empty for a stream that does not exist. Clients may still be reading it.
  std::span<std::byte> next_buffer(uint32_t type);

  // Puts `frame_id` behind the picture in next_buffer(), then notifies, then moves on by one
  // buffer. Timestamps are CLOCK_BOOTTIME.
  Status publish(uint32_t type, uint32_t frame_id, uint64_t timestamp_sof_ns,
                 uint64_t timestamp_eof_ns);

  uint64_t server_id() const { return server_id_; }

 private:
  class Buffer;
  struct Stream {
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<BufferRecord> records;
    std::unique_ptr<Publisher> notifications;
    size_t next = 0;
  };

  VisionServer(Transport& transport, VisionServerOptions options, std::filesystem::path path,
               uint64_t server_id, UniqueFd stop);

  void serve();
  bool wait_for(int fd);
  void answer(int socket);
  Status answer_list(int socket);
  Status answer_stream(int socket, const Stream& stream);

  Transport& transport_;
  const VisionServerOptions options_;
  const std::filesystem::path path_;
  const uint64_t server_id_;
  const UniqueFd stop_;  // readable when the thread is to end
  std::map<uint32_t, Stream> streams_;
  UnixListener listener_;
  std::thread thread_;
};

}  // namespace modeld::ipc
