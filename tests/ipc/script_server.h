// A frame server that does what a test tells it to, byte by byte: for the faults a real one shows.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include "ipc/frames/fd_socket.h"
#include "ipc/frames/vision_protocol.h"
#include "ipc/transport/unix_listener.h"
#include "runtime/base/unique_fd.h"

namespace modeld::ipc::test {

// Calls `answer(socket, request)` for every connection, on its own thread, then closes it.
// `request` is what arrived first, -1 if nothing did.
class ScriptServer {
 public:
  using Answer = std::function<void(int socket, int64_t request)>;

  ScriptServer(const std::filesystem::path& path, Answer answer, bool read_request = true)
      : answer_(std::move(answer)), read_request_(read_request) {
    auto listener = UnixListener::listen(path, SOCK_SEQPACKET, 16);
    if (!listener.ok()) {
      ADD_FAILURE() << to_string(listener.error());
      return;
    }
    listener_ = *std::move(listener);
    thread_ = std::thread([this] { serve(); });
  }
  ~ScriptServer() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

  int connections() const { return connections_; }

 private:
  void serve() {
    while (!stop_) {
      pollfd item{listener_.fd(), POLLIN, 0};
      if (::poll(&item, 1, 5) <= 0) continue;
      const UniqueFd socket(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket.valid()) continue;
      ++connections_;
      uint32_t request = 0;
      const bool got =
          read_request_ && ::recv(socket.get(), &request, sizeof(request), 0) == sizeof(request);
      answer_(socket.get(), got ? int64_t{request} : -1);
    }
  }

  Answer answer_;
  const bool read_request_;
  UnixListener listener_;
  std::atomic<bool> stop_{false};
  std::atomic<int> connections_{0};
  std::thread thread_;
};

// Buffers like a server's, for scripts to hand out and to scribble on.
class ScriptBuffers {
 public:
  ScriptBuffers(const Nv12Layout& layout, size_t count, uint64_t server_id, uint32_t type) {
    for (size_t i = 0; i < count; ++i) {
      fds_.emplace_back(::memfd_create("script", MFD_CLOEXEC));
      records.push_back(
          {layout.length, layout.length + kTrailingIdBytes, layout, server_id, i, type});
      EXPECT_EQ(::ftruncate(fds_.back().get(), static_cast<off_t>(layout.length + 8)), 0);
    }
  }

  std::vector<int> fds() const {
    std::vector<int> numbers;
    for (const UniqueFd& fd : fds_) numbers.push_back(fd.get());
    return numbers;
  }
  std::vector<std::byte> reply(RecordFormat format = RecordFormat::kNewest) const {
    std::vector<std::byte> bytes;
    for (const BufferRecord& record : records) encode_record(record, format, bytes);
    return bytes;
  }
  void write(size_t buffer, uint64_t offset, std::span<const std::byte> bytes) {
    EXPECT_EQ(::pwrite(fds_[buffer].get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)),
              static_cast<ssize_t>(bytes.size()));
  }
  void write_id(size_t buffer, uint64_t id) {
    write(buffer, records[buffer].length, std::as_bytes(std::span(&id, 1)));
  }
  void truncate(size_t buffer, uint64_t length) {
    EXPECT_EQ(::ftruncate(fds_[buffer].get(), static_cast<off_t>(length)), 0);
  }

  std::vector<BufferRecord> records;  // what the server claims; a test may lie here

 private:
  std::vector<UniqueFd> fds_;
};

}  // namespace modeld::ipc::test
