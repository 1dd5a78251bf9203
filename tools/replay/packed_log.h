// A log that is written while it grows.
#pragma once

#include <zstd.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace modeld::replay {

// What has been flushed is in the file and reads as a log that breaks off, whatever becomes of this
// process afterwards. Holds some 100 KiB however long the log. Not thread-safe.
class PackedLog {
 public:
  // Replaces `path`, which is zstd if its name ends in .zst and plain otherwise; .bz2 is
  // kInvalidArgument, because that format gives out nothing before its end.
  static Result<std::unique_ptr<PackedLog>> create(const std::filesystem::path& path);

  Status add(std::span<const std::byte> bytes);
  Status flush();
  // The end of the file; nothing may follow.
  Status finish();

 private:
  using Context = std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)>;

  PackedLog(UniqueFd file, Context context, std::filesystem::path path);
  Status pack(std::span<const std::byte> bytes, ZSTD_EndDirective directive);
  Status write_out(std::span<const std::byte> bytes);

  UniqueFd file_;
  Context context_;  // null: plain
  std::filesystem::path path_;
  std::vector<std::byte> buffer_;
};

}  // namespace modeld::replay
