#include "runtime/opencl/device_arena.h"

#include <algorithm>
#include <bit>

namespace modeld::opencl {

DeviceArena::Piece& DeviceArena::Piece::operator=(Piece&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  arena_ = std::move(other.arena_);
  memory_ = std::move(other.memory_);
  block_ = other.block_;
  offset_ = other.offset_;
  bytes_ = other.bytes_;
  return *this;
}

void DeviceArena::Piece::give_back() {
  if (arena_ == nullptr) return;
  arena_->give_back(*this);
  arena_ = nullptr;
}

std::shared_ptr<DeviceArena> DeviceArena::make(SessionPointer session) {
  return std::shared_ptr<DeviceArena>(new DeviceArena(std::move(session)));
}

DeviceArena::DeviceArena(SessionPointer session)
    : session_(std::move(session)),
      block_bytes_(std::min<uint64_t>(kBlockBytes, session_->info().max_allocation)) {
  const uint64_t bits = session_->info().base_align_bits;
  if (bits < 8 || !std::has_single_bit(bits)) {
    not_shared_ = "the device answers " + std::to_string(bits) +
                  " bits for CL_DEVICE_MEM_BASE_ADDR_ALIGN, so no sub-buffer is certain to start "
                  "where it may";
  }
}

Result<DeviceArena::Piece> DeviceArena::take(uint64_t bytes) {
  bytes = std::max<uint64_t>(bytes, 1);
  const std::lock_guard lock(mutex_);
  Piece piece;
  if (!not_shared_.empty() || bytes >= block_bytes_) {
    MODELD_TRY(take_own(bytes, piece));
  } else {
    MODELD_TRY(take_shared(bytes, piece));
  }
  piece.arena_ = shared_from_this();
  return piece;
}

Status DeviceArena::take_own(uint64_t bytes, Piece& piece) {
  MODELD_ASSIGN(piece.memory_, session_->create_buffer(bytes));
  piece.block_ = kOwnBuffer;
  piece.bytes_ = bytes;
  own_bytes_ += bytes;
  recount();
  return {};
}

Status DeviceArena::take_shared(uint64_t bytes, Piece& piece) {
  const uint64_t alignment = session_->base_alignment();
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (!blocks_[i].memory) continue;
    if (const auto offset = blocks_[i].ranges.allocate(bytes, alignment)) {
      return take_from(i, *offset, bytes, piece);
    }
  }
  const auto block = new_block();
  // Memory may still suffice for what was asked.
  if (!block.ok()) {
    return block.error().code == ErrorCode::kExhausted ? take_own(bytes, piece) : block.error();
  }
  const auto offset = blocks_[*block].ranges.allocate(bytes, alignment);
  if (!offset) {  // between the last multiple of the alignment and the end
    release_if_empty(*block);
    return take_own(bytes, piece);
  }
  return take_from(*block, *offset, bytes, piece);
}

Status DeviceArena::take_from(size_t block, uint64_t offset, uint64_t bytes, Piece& piece) {
  const cl_buffer_region region{offset, bytes};
  cl_int code = CL_SUCCESS;
  cl_mem memory = session_->calls().CreateSubBuffer(blocks_[block].memory.get(), CL_MEM_READ_WRITE,
                                                    CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
  if (code != CL_SUCCESS) {
    blocks_[block].ranges.release(offset);
    release_if_empty(block);
    return cl_error("clCreateSubBuffer", code)
        .in(std::to_string(bytes) + " bytes at offset " + std::to_string(offset));
  }
  piece.memory_ = ClMemHandle(memory, session_->calls().ReleaseMemObject);
  piece.block_ = block;
  piece.offset_ = offset;
  piece.bytes_ = 0;
  recount();
  return {};
}

Result<size_t> DeviceArena::new_block() {
  auto place = std::find_if(blocks_.begin(), blocks_.end(),
                            [](const Block& block) { return !block.memory; });
  if (place == blocks_.end()) {
    blocks_.push_back({ClMemHandle(), TlsfAllocator(0, 1)});
    place = std::prev(blocks_.end());
  }
  TlsfAllocator ranges(block_bytes_, session_->base_alignment());
  MODELD_ASSIGN(place->memory, session_->create_buffer(block_bytes_));
  place->ranges = std::move(ranges);
  return static_cast<size_t>(place - blocks_.begin());
}

void DeviceArena::release_if_empty(size_t block) {
  if (blocks_[block].ranges.empty()) blocks_[block].memory.reset();
}

void DeviceArena::recount() {
  use_.in_use = own_bytes_;
  use_.reserved = own_bytes_;
  use_.blocks = 0;
  for (const Block& block : blocks_) {
    if (!block.memory) continue;
    ++use_.blocks;
    use_.in_use += block.ranges.used();
    use_.reserved += block.ranges.capacity();
  }
  use_.most_in_use = std::max(use_.most_in_use, use_.in_use);
  use_.most_reserved = std::max(use_.most_reserved, use_.reserved);
}

void DeviceArena::give_back(Piece& piece) {
  const std::lock_guard lock(mutex_);
  piece.memory_.reset();
  if (piece.block_ == kOwnBuffer) {
    own_bytes_ -= piece.bytes_;
  } else {
    blocks_[piece.block_].ranges.release(piece.offset_);
    release_if_empty(piece.block_);
  }
  recount();
}

ArenaUse DeviceArena::use() const {
  const std::lock_guard lock(mutex_);
  return use_;
}

}  // namespace modeld::opencl
