// One pool of device memory for all captures of a device.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/memory/tlsf_allocator.h"
#include "runtime/opencl/session.h"

namespace modeld::opencl {

// Bytes.
struct ArenaUse {
  uint64_t in_use = 0;    // handed out, with what rounding adds
  uint64_t reserved = 0;  // taken from the driver
  uint64_t most_in_use = 0;
  uint64_t most_reserved = 0;
  size_t blocks = 0;  // shared ones
};

// Pieces are sub-buffers of blocks that grow as captures are made and go back to the driver when
// their last piece does. A piece as large as a block has a buffer of its own, and so has every
// piece where the device does not say how sub-buffers must be aligned. Nothing is taken or given
// back during replays. Thread-safe; lives until its last piece is gone.
class DeviceArena : public std::enable_shared_from_this<DeviceArena> {
 public:
  static constexpr uint64_t kBlockBytes = 16 << 20;

  // Owns a range of device memory. Commands that use it must be enqueued on the session's queue,
  // whose order keeps them apart from those of the next owner.
  class Piece {
   public:
    Piece() = default;
    Piece(Piece&& other) noexcept = default;
    Piece& operator=(Piece&& other) noexcept;
    ~Piece() { give_back(); }

    cl_mem get() const { return memory_.get(); }

   private:
    friend class DeviceArena;
    void give_back();

    std::shared_ptr<DeviceArena> arena_;
    ClMemHandle memory_;
    size_t block_ = 0;  // kOwnBuffer: in none
    uint64_t offset_ = 0;
    uint64_t bytes_ = 0;  // taken from the driver for this piece alone
  };

  static std::shared_ptr<DeviceArena> make(SessionPointer session);

  // At the device's base alignment; 0 bytes become 1. kExhausted above what the device allows or
  // has. After an error everything is as it was before.
  Result<Piece> take(uint64_t bytes);

  ArenaUse use() const;
  // Why pieces do not share blocks; empty where they do.
  const std::string& not_shared_because() const { return not_shared_; }

 private:
  static constexpr size_t kOwnBuffer = SIZE_MAX;

  struct Block {
    ClMemHandle memory;  // null: a vacant place
    TlsfAllocator ranges;
  };

  explicit DeviceArena(SessionPointer session);

  Status take_own(uint64_t bytes, Piece& piece);
  Status take_shared(uint64_t bytes, Piece& piece);
  Status take_from(size_t block, uint64_t offset, uint64_t bytes, Piece& piece);
  Result<size_t> new_block();
  void release_if_empty(size_t block);
  void recount();
  void give_back(Piece& piece);

  const SessionPointer session_;
  std::string not_shared_;
  uint64_t block_bytes_;
  mutable std::mutex mutex_;
  std::vector<Block> blocks_;
  uint64_t own_bytes_ = 0;  // in buffers of single pieces
  ArenaUse use_;
};

}  // namespace modeld::opencl
