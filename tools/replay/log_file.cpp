#include "tools/replay/log_file.h"

#include <bzlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "runtime/base/file.h"

namespace modeld::replay {
namespace {

constexpr std::array<unsigned char, 3> kBzip2Start{'B', 'Z', 'h'};
constexpr std::array<unsigned char, 4> kZstdStart{0x28, 0xb5, 0x2f, 0xfd};
constexpr size_t kStep = size_t{1} << 20;
constexpr int kZstdLevel = 3;
constexpr int kBzip2Blocks = 9;

bool starts_with(std::span<const std::byte> file, std::span<const unsigned char> start) {
  return file.size() >= start.size() && std::memcmp(file.data(), start.data(), start.size()) == 0;
}

Error too_large(uint64_t max_bytes) {
  return Error(ErrorCode::kExhausted, "log unpacks to more than the limit")
      .expecting("at most " + std::to_string(max_bytes) + " bytes", "more");
}

// Makes room for one more step; false at the limit.
bool grow(std::vector<std::byte>& out, size_t used, uint64_t max_bytes) {
  if (used < out.size()) return true;
  if (out.size() >= max_bytes) return false;
  out.resize(std::min<uint64_t>(max_bytes, std::max<uint64_t>(out.size() * 2, kStep)));
  return true;
}

class Bzip2Reader {
 public:
  Bzip2Reader() { open_ = BZ2_bzDecompressInit(&stream_, 0, 0) == BZ_OK; }
  ~Bzip2Reader() {
    if (open_) BZ2_bzDecompressEnd(&stream_);
  }
  Bzip2Reader(const Bzip2Reader&) = delete;
  Bzip2Reader& operator=(const Bzip2Reader&) = delete;

  bool open() const { return open_; }
  bz_stream& stream() { return stream_; }

 private:
  bz_stream stream_{};
  bool open_ = false;
};

// One bzip2 stream; several may follow each other. True if it was whole.
Result<bool> unpack_stream(std::span<const std::byte>& in, std::vector<std::byte>& out,
                           size_t& used, uint64_t max_bytes) {
  Bzip2Reader reader;
  if (!reader.open()) return Error(ErrorCode::kExhausted, "bzip2: no memory");
  bz_stream& stream = reader.stream();
  while (true) {
    if (!grow(out, used, max_bytes)) return too_large(max_bytes);
    const auto take = static_cast<unsigned>(std::min(in.size(), kStep));
    const auto give = static_cast<unsigned>(std::min(out.size() - used, kStep));
    // The library only reads its input, and takes it as char*.
    stream.next_in = reinterpret_cast<char*>(const_cast<std::byte*>(in.data()));
    stream.avail_in = take;
    stream.next_out = reinterpret_cast<char*>(out.data() + used);
    stream.avail_out = give;
    const int state = BZ2_bzDecompress(&stream);
    in = in.subspan(take - stream.avail_in);
    used += give - stream.avail_out;
    if (state == BZ_STREAM_END) return true;
    if (state != BZ_OK) return false;
    if (in.empty() && stream.avail_out != 0) return false;
  }
}

Result<LogFile> unpack_bzip2(std::span<const std::byte> in, uint64_t max_bytes) {
  LogFile log;
  log.packing = Packing::kBzip2;
  size_t used = 0;
  while (!in.empty() && !log.cut_short) {
    MODELD_ASSIGN(const bool whole, unpack_stream(in, log.bytes, used, max_bytes));
    log.cut_short = !whole;
  }
  log.bytes.resize(used);
  return log;
}

Result<LogFile> unpack_zstd(std::span<const std::byte> file, uint64_t max_bytes) {
  LogFile log;
  log.packing = Packing::kZstd;
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                   ZSTD_freeDCtx);
  if (!context) return Error(ErrorCode::kExhausted, "zstd: no memory");
  ZSTD_inBuffer in{file.data(), file.size(), 0};
  size_t used = 0;
  size_t wanted = 0;  // 0: at the border of two frames
  while (in.pos < in.size || wanted != 0) {
    if (!grow(log.bytes, used, max_bytes)) return too_large(max_bytes);
    ZSTD_outBuffer out{log.bytes.data() + used, std::min(log.bytes.size() - used, kStep), 0};
    const size_t before = in.pos;
    wanted = ZSTD_decompressStream(context.get(), &out, &in);
    used += out.pos;
    const bool stuck = in.pos == before && out.pos == 0;
    if (ZSTD_isError(wanted) != 0 || stuck) {
      log.cut_short = true;
      break;
    }
  }
  log.bytes.resize(used);
  return log;
}

}  // namespace

std::string_view to_string(Packing packing) {
  switch (packing) {
    case Packing::kPlain:
      return "plain";
    case Packing::kBzip2:
      return "bzip2";
    case Packing::kZstd:
      return "zstd";
  }
  return "?";
}

Packing packing_of(std::span<const std::byte> file) {
  if (starts_with(file, kBzip2Start)) return Packing::kBzip2;
  if (starts_with(file, kZstdStart)) return Packing::kZstd;
  return Packing::kPlain;
}

Packing packing_for(const std::filesystem::path& path) {
  if (path.extension() == ".bz2") return Packing::kBzip2;
  if (path.extension() == ".zst") return Packing::kZstd;
  return Packing::kPlain;
}

Result<LogFile> unpack_log(std::vector<std::byte> file, uint64_t max_bytes) {
  switch (packing_of(file)) {
    case Packing::kBzip2:
      return unpack_bzip2(file, max_bytes);
    case Packing::kZstd:
      return unpack_zstd(file, max_bytes);
    case Packing::kPlain:
      break;
  }
  if (file.size() > max_bytes) return too_large(max_bytes);
  LogFile log;
  log.bytes = std::move(file);
  return log;
}

Result<LogFile> read_log_file(const std::filesystem::path& path) {
  MODELD_ASSIGN(auto file, read_file(path, kMaxPackedLogBytes));
  auto log = unpack_log(std::move(file));
  if (!log.ok()) return std::move(log).error().in(path.string());
  return log;
}

Result<std::vector<std::byte>> pack_log(std::span<const std::byte> log, Packing packing) {
  if (packing == Packing::kPlain) return std::vector<std::byte>(log.begin(), log.end());
  if (packing == Packing::kZstd) {
    std::vector<std::byte> out(ZSTD_compressBound(log.size()));
    const size_t size = ZSTD_compress(out.data(), out.size(), log.data(), log.size(), kZstdLevel);
    if (ZSTD_isError(size) != 0) return Error(ErrorCode::kInternal, ZSTD_getErrorName(size));
    out.resize(size);
    return out;
  }
  if (log.size() > kMaxLogBytes) return too_large(kMaxLogBytes);
  // The library's own bound.
  std::vector<std::byte> out(log.size() + log.size() / 100 + 600);
  auto size = static_cast<unsigned>(out.size());
  const int state =
      BZ2_bzBuffToBuffCompress(reinterpret_cast<char*>(out.data()), &size,
                               reinterpret_cast<char*>(const_cast<std::byte*>(log.data())),
                               static_cast<unsigned>(log.size()), kBzip2Blocks, 0, 0);
  if (state != BZ_OK) return Error(ErrorCode::kInternal, "bzip2: " + std::to_string(state));
  out.resize(size);
  return out;
}

}  // namespace modeld::replay
