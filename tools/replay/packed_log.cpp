#include "tools/replay/packed_log.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "runtime/base/file.h"
#include "tools/replay/log_file.h"

namespace modeld::replay {
namespace {

constexpr int kLevel = 3;

}  // namespace

PackedLog::PackedLog(UniqueFd file, Context context, std::filesystem::path path)
    : file_(std::move(file)),
      context_(std::move(context)),
      path_(std::move(path)),
      buffer_(context_ ? ZSTD_CStreamOutSize() : 0) {}

Result<std::unique_ptr<PackedLog>> PackedLog::create(const std::filesystem::path& path) {
  const Packing packing = packing_for(path);
  if (packing == Packing::kBzip2) {
    return Error(ErrorCode::kInvalidArgument, "packing of a log that grows")
        .expecting(".zst or none", ".bz2")
        .in(path.string());
  }
  Context context(nullptr, ZSTD_freeCCtx);
  if (packing == Packing::kZstd) {
    context.reset(ZSTD_createCCtx());
    if (!context) return Error(ErrorCode::kExhausted, "zstd: no memory");
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  }
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.valid()) return errno_error("creating " + path.string(), errno);
  return std::unique_ptr<PackedLog>(new PackedLog(std::move(file), std::move(context), path));
}

Status PackedLog::write_out(std::span<const std::byte> bytes) {
  const Status written = write_all(file_.get(), bytes);
  if (!written.ok()) return Error(written.error()).in(path_.string());
  return {};
}

Status PackedLog::pack(std::span<const std::byte> bytes, ZSTD_EndDirective directive) {
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  size_t left = 0;
  do {
    ZSTD_outBuffer out{buffer_.data(), buffer_.size(), 0};
    left = ZSTD_compressStream2(context_.get(), &out, &in, directive);
    if (ZSTD_isError(left) != 0) return Error(ErrorCode::kInternal, ZSTD_getErrorName(left));
    MODELD_TRY(write_out(std::span(buffer_).first(out.pos)));
  } while (in.pos < in.size || (directive != ZSTD_e_continue && left != 0));
  return {};
}

Status PackedLog::add(std::span<const std::byte> bytes) {
  return context_ ? pack(bytes, ZSTD_e_continue) : write_out(bytes);
}

Status PackedLog::flush() {
  return context_ ? pack({}, ZSTD_e_flush) : Status();
}

Status PackedLog::finish() {
  return context_ ? pack({}, ZSTD_e_end) : Status();
}

}  // namespace modeld::replay
