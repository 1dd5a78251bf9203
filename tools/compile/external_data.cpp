#include "tools/compile/external_data.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "runtime/base/checked.h"
#include "runtime/base/file.h"
#include "tools/compile/text.h"

namespace modeld::compile {
namespace {

Error refused(const std::string& location, std::string why) {
  return Error(ErrorCode::kRefused, std::move(why))
      .in("external data '" + printable(location) + "'");
}

Status check_location(const std::string& location) {
  const std::filesystem::path path(location);
  if (location.empty() || location.find('\0') != std::string::npos) {
    return refused(location, "no valid location");
  }
  if (path.is_absolute()) {
    return Error(refused(location, "the location is absolute"))
        .expecting("a path inside the model's folder", printable(location));
  }
  for (const auto& part : path) {
    if (part == "..") {
      return Error(refused(location, "the location leaves the model's folder"))
          .expecting("a path without '..'", printable(location));
    }
  }
  return {};
}

Error open_error(const std::string& location, int error) {
  if (error == ELOOP || error == ENOTDIR) {
    return refused(location, "a part of the path is a symbolic link or not a folder");
  }
  return errno_error("cannot open", error).in("external data '" + printable(location) + "'");
}

// Component by component without following links: no part of the path can lead elsewhere.
Result<UniqueFd> open_beneath(const std::filesystem::path& folder, const std::string& location) {
  const std::filesystem::path base = folder.empty() ? std::filesystem::path(".") : folder;
  UniqueFd at(::open(base.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!at.valid()) return errno_error("cannot open folder " + base.string(), errno);
  const std::filesystem::path path(location);
  for (auto part = path.begin(); part != path.end();) {
    const std::string name = part->string();
    const bool last = ++part == path.end();
    const int flags = last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY;
    UniqueFd next(::openat(at.get(), name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
    if (!next.valid()) return open_error(location, errno);
    at = std::move(next);
  }
  return at;
}

int64_t changed_ns(const struct stat& info) {
  return int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

bool overlaps(const std::map<uint64_t, uint64_t>& taken, uint64_t begin, uint64_t end) {
  const auto after = taken.lower_bound(begin);
  if (after != taken.end() && after->first < end) return true;
  return after != taken.begin() && std::prev(after)->second > begin;
}

}  // namespace

Result<ExternalData::File*> ExternalData::open(const std::string& location) {
  MODELD_TRY(check_location(location));
  if (const auto known = files_.find(location); known != files_.end()) return &known->second;
  MODELD_ASSIGN(UniqueFd fd, open_beneath(folder_, location));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return errno_error("cannot stat external data", errno);
  if (!S_ISREG(info.st_mode)) return refused(location, "not a regular file");
  if (info.st_nlink != 1) {
    return Error(refused(location, "the file has other names, perhaps outside the folder"))
        .expecting("1 hard link", std::to_string(info.st_nlink));
  }
  File& file = files_[location];
  file.fd = std::move(fd);
  file.size = static_cast<uint64_t>(info.st_size);
  file.changed_ns = changed_ns(info);
  return &file;
}

Result<std::vector<std::byte>> ExternalData::read(const ExternalRange& range) {
  MODELD_ASSIGN(File * file, open(range.location));
  if (!range_fits(range.offset, range.length, file->size)) {
    return Error(refused(range.location, "the range ends beyond the file"))
        .expecting("at most " + std::to_string(file->size) + " bytes",
                   std::to_string(range.length) + " bytes at " + std::to_string(range.offset));
  }
  if (range.length > bytes_left_) return refused(range.location, "too much external data in all");
  const uint64_t end = range.offset + range.length;
  if (range.length > 0 && overlaps(file->taken, range.offset, end)) {
    return refused(range.location, "the ranges of two tensors overlap");
  }
  if (range.length > 0) file->taken[range.offset] = end;
  bytes_left_ -= range.length;
  std::vector<std::byte> bytes(range.length);
  MODELD_TRY(read_exactly(file->fd.get(), range.offset, bytes));
  struct stat info {};
  if (::fstat(file->fd.get(), &info) != 0) return errno_error("cannot stat external data", errno);
  if (static_cast<uint64_t>(info.st_size) != file->size || changed_ns(info) != file->changed_ns) {
    return refused(range.location, "the file was changed while it was read");
  }
  return bytes;
}

}  // namespace modeld::compile
