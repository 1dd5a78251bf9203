#include "runtime/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/base/new_file.h"

namespace modeld {
namespace {

template <typename Container>
Result<Container> read_whole(const std::filesystem::path& path, uint64_t max_bytes) {
  // O_NONBLOCK: opening a pipe would wait for somebody to write into it.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return errno_error("opening " + path.string(), errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return errno_error("reading " + path.string(), errno);
  if (!S_ISREG(info.st_mode)) {
    return Error(ErrorCode::kInvalidArgument, path.string() + " is not a regular file");
  }
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size > max_bytes) {
    return Error(ErrorCode::kInvalidArgument, path.string() + " is too large")
        .expecting("at most " + std::to_string(max_bytes) + " bytes",
                   std::to_string(size) + " bytes");
  }
  Container content(size, {});
  if (auto read = read_exactly(fd.get(), 0, std::as_writable_bytes(std::span(content)));
      !read.ok()) {
    return std::move(read).error().in(path.string());
  }
  return content;
}

}  // namespace

Result<std::vector<std::byte>> read_file(const std::filesystem::path& path, uint64_t max_bytes) {
  return read_whole<std::vector<std::byte>>(path, max_bytes);
}

Result<std::string> read_text_file(const std::filesystem::path& path, uint64_t max_bytes) {
  return read_whole<std::string>(path, max_bytes);
}

Status read_exactly(int fd, uint64_t offset, std::span<std::byte> out) {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t n =
        ::pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("reading", errno);
    if (n == 0) {
      return Error(ErrorCode::kCorrupt, "file ends early")
          .expecting(std::to_string(out.size()) + " bytes at offset " + std::to_string(offset),
                     std::to_string(done) + " bytes");
    }
    done += static_cast<size_t>(n);
  }
  return {};
}

Status write_all(int fd, std::span<const std::byte> bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("writing", errno);
    done += static_cast<size_t>(n);
  }
  return {};
}

Status write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes,
                             unsigned mode) {
  MODELD_ASSIGN(NewFile file, NewFile::create(path));
  Status written = write_all(file.fd(), bytes);
  if (written.ok()) written = file.keep(mode);
  if (!written.ok()) return std::move(written).error().in(path.string());
  return {};
}

}  // namespace modeld
