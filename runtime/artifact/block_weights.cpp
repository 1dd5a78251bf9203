#include "runtime/artifact/block_weights.h"

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/artifact/file_header.h"
#include "runtime/base/checked.h"
#include "runtime/base/file.h"

namespace modeld {

BlockWeights::BlockWeights(UniqueFd fd, uint64_t offset, uint64_t size, std::vector<Sha256> hashes)
    : fd_(std::move(fd)), offset_(offset), size_(size), hashes_(std::move(hashes)) {}

Status BlockWeights::read(uint64_t offset, std::span<std::byte> out) {
  if (!range_fits(offset, out.size(), size_)) {
    return Error(ErrorCode::kRefused, "weights out of range")
        .expecting("at most " + std::to_string(size_) + " bytes",
                   std::to_string(out.size()) + " bytes at offset " + std::to_string(offset));
  }
  while (!out.empty()) {
    const uint64_t index = offset / kWeightBlockBytes;
    if (loaded_ != index) MODELD_TRY(load_block(index));
    const uint64_t inside = offset % kWeightBlockBytes;
    const auto piece = std::span<const std::byte>(block_).subspan(inside);
    const size_t length = std::min(piece.size(), out.size());
    std::copy_n(piece.begin(), length, out.begin());
    out = out.subspan(length);
    offset += length;
  }
  return {};
}

Status BlockWeights::load_block(uint64_t index) {
  loaded_.reset();
  const uint64_t start = index * kWeightBlockBytes;
  block_.resize(std::min(kWeightBlockBytes, size_ - start));
  const std::string where = "weight block " + std::to_string(index);
  if (auto read = read_exactly(fd_.get(), offset_ + start, block_); !read.ok()) {
    Error error = std::move(read).error();
    if (error.code == ErrorCode::kCorrupt) error.code = ErrorCode::kRefused;
    return std::move(error).in(where);
  }
  const Sha256 found = sha256(block_);
  if (found != hashes_[index]) {
    return Error(ErrorCode::kRefused, where + " was altered")
        .expecting("SHA-256 " + to_hex(hashes_[index]), to_hex(found));
  }
  loaded_ = index;
  return {};
}

}  // namespace modeld
