// Memory that two processes see, without a name anybody else could open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace modeld::supervise {

// A mapping of a memfd whose size is sealed: neither side can make the other fault by shortening
// it. Zeroed when made. Movable; page aligned.
class SharedMemory {
 public:
  SharedMemory() = default;
  static Result<SharedMemory> create(const char* name, uint64_t bytes);
  // Maps what a peer made. kRefused if it is not sealed or not `bytes` long.
  static Result<SharedMemory> map(UniqueFd fd, uint64_t bytes);
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept
      : fd_(std::move(other.fd_)), bytes_(std::exchange(other.bytes_, {})) {}
  SharedMemory& operator=(SharedMemory&& other) noexcept;

  std::span<std::byte> bytes() const { return bytes_; }
  int fd() const { return fd_.get(); }

 private:
  SharedMemory(UniqueFd fd, std::span<std::byte> bytes) : fd_(std::move(fd)), bytes_(bytes) {}
  static Result<SharedMemory> map_checked(UniqueFd fd, uint64_t bytes);

  UniqueFd fd_;
  std::span<std::byte> bytes_;
};

}  // namespace modeld::supervise
