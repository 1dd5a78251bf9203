// Log files: plain, bzip2 or zstd, told apart by their content and never by their name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace modeld::replay {

enum class Packing : uint8_t { kPlain, kBzip2, kZstd };
std::string_view to_string(Packing packing);  // "plain", "bzip2", "zstd"

// What the first bytes say (facts 8.2).
Packing packing_of(std::span<const std::byte> file);
// What a name asks for: .bz2, .zst, anything else is plain.
Packing packing_for(const std::filesystem::path& path);

constexpr uint64_t kMaxPackedLogBytes = uint64_t{1} << 30;
constexpr uint64_t kMaxLogBytes = uint64_t{2} << 30;

struct LogFile {
  std::vector<std::byte> bytes;  // unpacked
  Packing packing = Packing::kPlain;
  // The packed stream broke off or was damaged; `bytes` is what came before that.
  bool cut_short = false;
};

// kExhausted for a file above kMaxPackedLogBytes or one that unpacks to more than kMaxLogBytes.
Result<LogFile> read_log_file(const std::filesystem::path& path);
Result<LogFile> unpack_log(std::vector<std::byte> file, uint64_t max_bytes = kMaxLogBytes);

// The same bytes for the same input, always.
Result<std::vector<std::byte>> pack_log(std::span<const std::byte> log, Packing packing);

}  // namespace modeld::replay
