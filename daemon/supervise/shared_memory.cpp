#include "daemon/supervise/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace modeld::supervise {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

}  // namespace

Result<SharedMemory> SharedMemory::create(const char* name, uint64_t bytes) {
  UniqueFd fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return errno_error("making shared memory", errno);
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    return errno_error("sizing shared memory of " + std::to_string(bytes) + " bytes", errno);
  }
  if (fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return errno_error("sealing shared memory", errno);
  return map_checked(std::move(fd), bytes);
}

Result<SharedMemory> SharedMemory::map(UniqueFd fd, uint64_t bytes) {
  const int seals = fcntl(fd.get(), F_GET_SEALS);
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return errno_error("shared memory of a peer", errno);
  if (seals < 0 || (seals & kSeals) != kSeals || static_cast<uint64_t>(info.st_size) != bytes) {
    return Error(ErrorCode::kRefused, "shared memory of a peer")
        .expecting(std::to_string(bytes) + " bytes, sealed",
                   std::to_string(info.st_size) + " bytes" + (seals < 0 ? ", not sealable" : ""));
  }
  return map_checked(std::move(fd), bytes);
}

Result<SharedMemory> SharedMemory::map_checked(UniqueFd fd, uint64_t bytes) {
  void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (start == MAP_FAILED) return errno_error("mapping shared memory", errno);
  return SharedMemory(std::move(fd), {static_cast<std::byte*>(start), bytes});
}

SharedMemory::~SharedMemory() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace modeld::supervise
