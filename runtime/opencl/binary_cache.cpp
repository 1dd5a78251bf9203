#include "runtime/opencl/binary_cache.h"

#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>

#include "runtime/base/file.h"

namespace modeld::opencl {
namespace {

// Layout: magic, key, hash of the binary, the binary.
constexpr std::string_view kMagic = "modeldk1";
constexpr size_t kHeader = kMagic.size() + 2 * sizeof(Sha256);
constexpr uint64_t kMostBytes = uint64_t{256} << 20;
constexpr size_t kMostFiles = 32;  // two a capture; those of old artifacts and drivers go first
constexpr std::string_view kSuffix = ".clbin";

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// Machine code to be run: nobody else may have put it there.
bool is_own(const std::filesystem::path& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid() &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

BinaryCache::BinaryCache(const DeviceInfo& device, std::filesystem::path folder)
    : device_(device.platform_name + '\0' + device.platform_version + '\0' + device.vendor + '\0' +
              device.name + '\0' + device.version + '\0' + device.driver_version),
      folder_(std::move(folder)) {
  if (folder_.empty()) return;
  std::error_code failure;
  if (std::filesystem::create_directory(folder_, failure); failure) give_up(failure.message());
}

Sha256 BinaryCache::key(std::string_view options, std::string_view source) const {
  Sha256Hasher hasher;
  for (const std::string_view part : {kMagic, std::string_view(device_), options, source}) {
    const uint64_t length = part.size();
    hasher.update(std::as_bytes(std::span(&length, 1)));
    hasher.update(bytes_of(part));
  }
  return hasher.finish();
}

std::filesystem::path BinaryCache::path(const Sha256& key) const {
  return folder_ / (to_hex(key) + std::string(kSuffix));
}

std::vector<unsigned char> BinaryCache::load(std::string_view options,
                                             std::string_view source) const {
  if (!enabled()) return {};
  const Sha256 wanted = key(options, source);
  if (!is_own(path(wanted))) return {};
  const auto file = read_file(path(wanted), kMostBytes);
  if (!file.ok() || file->size() <= kHeader) return {};
  const std::byte* at = file->data();
  if (std::memcmp(at, kMagic.data(), kMagic.size()) != 0) return {};
  at += kMagic.size();
  if (std::memcmp(at, wanted.data(), wanted.size()) != 0) return {};
  at += wanted.size();
  const std::span<const std::byte> content = std::span(*file).subspan(kHeader);
  const Sha256 found = sha256(content);
  if (std::memcmp(at, found.data(), found.size()) != 0) return {};
  std::vector<unsigned char> binary(content.size());
  std::memcpy(binary.data(), content.data(), content.size());
  return binary;
}

void BinaryCache::store(std::string_view options, std::string_view source,
                        const std::vector<unsigned char>& binary) {
  if (!enabled() || binary.empty() || binary.size() > kMostBytes - kHeader) return;
  const Sha256 own = key(options, source);
  const auto content = std::as_bytes(std::span(binary));
  const Sha256 hash = sha256(content);
  std::vector<std::byte> file;
  file.reserve(kHeader + content.size());
  const auto append = [&](std::span<const std::byte> bytes) {
    file.insert(file.end(), bytes.begin(), bytes.end());
  };
  append(bytes_of(kMagic));
  append(std::as_bytes(std::span(own)));
  append(std::as_bytes(std::span(hash)));
  append(content);
  // A link is not followed, and a file that others may write does not pass its mode on.
  std::error_code ignored;
  if (!is_own(path(own))) std::filesystem::remove(path(own), ignored);
  if (const Status status = write_file_atomically(path(own), file, 0600); !status.ok()) {
    return give_up(to_string(status.error()));
  }
  remove_oldest();
}

void BinaryCache::remove_oldest() const {
  std::error_code ignored;
  std::vector<std::pair<std::filesystem::file_time_type, std::filesystem::path>> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored)) {
    if (entry.path().extension() != kSuffix) continue;
    files.emplace_back(entry.last_write_time(ignored), entry.path());
  }
  if (files.size() <= kMostFiles) return;
  std::sort(files.begin(), files.end());
  files.resize(files.size() - kMostFiles);
  for (const auto& [written, path] : files) std::filesystem::remove(path, ignored);
}

void BinaryCache::give_up(const std::string& why) {
  spdlog::warn("opencl kernels are not kept: folder={} cause={}", folder_.string(), why);
  folder_.clear();
}

}  // namespace modeld::opencl
