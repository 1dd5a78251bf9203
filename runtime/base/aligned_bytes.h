// Zeroed heap memory on a cache line's boundary.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "runtime/base/checked.h"

namespace modeld {

// Movable, not copyable.
class AlignedBytes {
 public:
  static constexpr size_t kCacheLine = 64;  // bytes; also the widest vector

  AlignedBytes() = default;
  // Check ok() afterwards. `alignment` is a power of two.
  explicit AlignedBytes(size_t bytes, size_t alignment = kCacheLine) {
    const auto rounded = checked_align_up(bytes == 0 ? 1 : bytes, alignment);
    if (!rounded) return;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, *rounded)));
    if (memory_ == nullptr) return;
    std::memset(memory_.get(), 0, *rounded);
    size_ = bytes;
  }

  // False if memory was short (or none was asked for).
  bool ok() const { return memory_ != nullptr; }
  std::byte* data() const { return memory_.get(); }
  size_t size() const { return size_; }
  std::span<std::byte> span() const { return {memory_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  size_t size_ = 0;
};

}  // namespace modeld
